"""`link_digest`: a digest of the code that a program is linked from."""

_SOURCE = """// Generated for {label}.
namespace regard {{
extern const char kComputeDigest[];
const char kComputeDigest[] = "'"${{digest}}"'";
}}  // namespace regard
"""

# Sorts the digests, so that the order and the names of the files do not matter.
_COMMAND = """set -euo pipefail
digest="$( (xargs -d '\\n' -a "$1" sha256sum --binary -- | cut -c 1-64 |
  sort; cat "$2") | sha256sum | cut -c 1-64)"
printf '%s' '""" + _SOURCE + """' >"$3"
"""

def _linked_files(library):
    """Returns the objects of a LibraryToLink or, if it has none, its library."""
    for files in [library.objects, library.pic_objects]:
        if files:
            return files
    for file in [
        library.static_library,
        library.pic_static_library,
        library.dynamic_library,
    ]:
        if file:
            return [file]
    return []

def _link_digest_impl(ctx):
    files = []
    flags = []
    for library in ctx.attr.libraries:
        # buildifier: disable=native-cc-info
        context = library[CcInfo].linking_context
        for linker_input in context.linker_inputs.to_list():
            flags.extend(linker_input.user_link_flags)
            for linked in linker_input.libraries:
                files.extend(_linked_files(linked))
    files = depset(files)
    flag_file = ctx.actions.declare_file(ctx.label.name + ".flags")
    ctx.actions.write(flag_file, "".join([
        flag + "\n"
        for flag in sorted({flag: True for flag in flags})
    ]))
    file_list = ctx.actions.declare_file(ctx.label.name + ".files")
    ctx.actions.write(file_list, "".join([
        file.path + "\n"
        for file in files.to_list()
    ]))
    ctx.actions.run_shell(
        command = _COMMAND.format(label = ctx.label),
        arguments = [file_list.path, flag_file.path, ctx.outputs.out.path],
        inputs = depset([file_list, flag_file], transitive = [files]),
        outputs = [ctx.outputs.out],
        mnemonic = "LinkDigest",
        progress_message = "Taking the digest {}".format(ctx.label),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )

link_digest = rule(
    implementation = _link_digest_impl,
    doc = """C++ code of `regard::kComputeDigest`, a SHA-256 of object files.

    It covers the objects of `libraries` and of all that these are linked with.
    The flags that libraries give to the linker count, too. Comments do not change
    an object file, and neither does where its directory is
    (docs/decisions/0021-what-computes-has-a-digest.md).""",
    attrs = {
        # buildifier: disable=native-cc-info
        "libraries": attr.label_list(mandatory = True, providers = [CcInfo]),
        "out": attr.output(mandatory = True),
    },
)
