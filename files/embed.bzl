"""`embed_text`: a C++ function that returns the bytes of a file."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")

_HEADER = """// Generated from {src}.
#ifndef {guard}
#define {guard}

#include "absl/strings/string_view.h"

namespace regard {{

absl::string_view {function}();

}}  // namespace regard

#endif  // {guard}
"""

def _header_impl(ctx):
    path = ctx.outputs.out.short_path
    guard = "".join([
        c if c.isalnum() else "_"
        for c in path.upper().elems()
    ]) + "_"
    ctx.actions.write(ctx.outputs.out, _HEADER.format(
        src = ctx.attr.src,
        guard = guard,
        function = ctx.attr.function,
    ))

_header = rule(
    implementation = _header_impl,
    attrs = {
        "function": attr.string(mandatory = True),
        "out": attr.output(mandatory = True),
        "src": attr.string(mandatory = True),
    },
)

def embed_text(name, src, function, **kwargs):
    """Defines a cc_library with `absl::string_view regard::FUNCTION()` in NAME.h.

    Args:
      name: the name of the library and, with .h, of its header.
      src: the file, whose bytes are returned exactly.
      function: the name of the C++ function, such as `PageStyle`.
      **kwargs: arguments of cc_library.
    """
    _header(
        name = name + "_header",
        function = function,
        out = name + ".h",
        src = str(src),
    )

    # Each block of 64 bytes becomes a literal, with every byte in hexadecimal.
    native.genrule(
        name = name + "_source",
        srcs = [src],
        outs = [name + ".cc"],
        cmd = """(
            echo '#include "{header}"'
            echo 'namespace regard {{ static constexpr char kBytes[] = ""'
            od -An -v -tx1 -w64 $< | sed -e 's/ /\\\\x/g' -e 's/.*/"&"/'
            echo '; absl::string_view {function}() {{'
            echo '  return absl::string_view(kBytes, sizeof(kBytes) - 1);'
            echo '}} }}  // namespace regard'
        ) > $@""".format(
            function = function,
            header = native.package_name() + "/" + name + ".h",
        ),
    )
    cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = [name + ".h"],
        deps = ["@com_google_absl//absl/strings"],
        **kwargs
    )
