"""`plugin_list`: a library that registers a list of plug-ins."""

load("@rules_cc//cc:cc_library.bzl", "cc_library")

_HEADER = """// Generated for {label}.
#ifndef {guard}
#define {guard}

#include "{header}"

namespace regard {{

extern "C" void {function}({registry}& registry);

inline void Register{camel}({registry}& registry) {{ {function}(registry); }}

// Returns a new registry with only these plug-ins.
inline {registry} {camel}() {{
  {registry} registry;
  {function}(registry);
  return registry;
}}

}}  // namespace regard

#endif  // {guard}
"""

_SOURCE = """// Generated for {label}.
#include "{own_header}"

namespace regard {{

{declarations}
extern "C" void {function}({registry}& registry) {{
{calls}}}

}}  // namespace regard
"""

def _generated_source_impl(ctx):
    ctx.actions.write(ctx.outputs.out, ctx.attr.text)

generated_source = rule(
    doc = "A file of the given text.",
    implementation = _generated_source_impl,
    attrs = {
        "out": attr.output(mandatory = True),
        "text": attr.string(mandatory = True),
    },
)

def camel_case(target):
    """Returns `MyScore` for `my_score`, `:my_score` and `//lab/my_score`."""
    name = str(target).rpartition("/")[2].rpartition(":")[2]
    return "".join([word.capitalize() for word in name.split("_")])

def registration_name(plugin, registry):
    """Returns the name of the function that registers a plug-in, from label and type."""
    return "Register{}In{}".format(camel_case(plugin), registry)

def registration(plugins, registry, argument):
    """Returns the C++ code that registers plug-ins.

    Args:
      plugins: names or labels. `my_score` must define
        `extern "C" void RegisterMyScoreInREGISTRY(REGISTRY&)`.
      registry: the type of the registry.
      argument: a C++ expression for the registry.

    Returns:
      the declarations and the calls, one per line.
    """
    functions = [registration_name(plugin, registry) for plugin in plugins]
    return struct(
        declarations = "".join([
            "extern \"C\" void {}({}&);\n".format(function, registry)
            for function in functions
        ]),
        calls = "".join([
            "  {}({});\n".format(function, argument)
            for function in functions
        ]),
    )

def plugin_list(
        name,
        header,
        registry,
        plugins = [],
        members = {},
        srcs = [],
        hdrs = [],
        deps = [],
        **kwargs):
    """Makes a library with `RegisterNAME(REGISTRY&)` and `REGISTRY NAME()` in NAME.h.

    Args:
      name: name of the library, such as `built_in_scores`.
      header: header that declares the registry.
      registry: type of the registry.
      plugins: names or labels of plug-ins; see `registration`. Add a plug-in by
        a line in this list.
      members: lists of plug-ins for members of the registry that are
        registries. Keys are "TYPE member".
      srcs: sources in addition to the generated one.
      hdrs: headers in addition to the generated one.
      deps: dependencies, including the plug-ins that are not in srcs.
      **kwargs: passed to cc_library.
    """
    own_header = "{}/{}.h".format(native.package_name(), name)
    parts = [registration(plugins, registry, "registry")]
    for member, more in members.items():
        kind, _, field = member.partition(" ")
        parts.append(registration(more, kind, "registry." + field))
    text = {
        "calls": "".join([part.calls for part in parts]),
        "camel": camel_case(name),
        "declarations": "".join([part.declarations for part in parts]),
        "function": registration_name(name, registry),
        "guard": own_header.upper().replace("/", "_").replace(".", "_") + "_",
        "header": header,
        "label": "//{}:{}".format(native.package_name(), name),
        "own_header": own_header,
        "registry": registry,
    }
    for template, ending in [(_HEADER, ".h"), (_SOURCE, ".cc")]:
        generated_source(
            name = name + ending.replace(".", "_"),
            out = name + ending,
            text = template.format(**text),
        )
    cc_library(
        name = name,
        srcs = srcs + [name + ".cc"],
        hdrs = hdrs + [name + ".h"],
        deps = deps,
        **kwargs
    )
