"""Exposes libraries installed on the system under upstream's Bazel labels."""

# tools/bazel sets this variable to announce that packages were installed,
# removed or changed, because Bazel does not watch files outside of the
# workspace.
_ENVIRON = ["REGARD_PACKAGES"]

_ADVICE = """

{what} not found on this system: {path}
Regard builds on Debian's libraries. To install what is missing, run

    tools/bazel build //...

or, by hand, apt-get install {package}
"""

def _require(ctx, path, package):
    found = ctx.path(path)
    if not found.exists:
        fail(_ADVICE.format(what = ctx.name, path = path, package = package))
    return found

def _write_version(ctx, otherwise):
    """Writes version.bzl. Its `VERSION` defines a macro for the version.

    Files outside of the workspace are not inputs of an action. A command that
    defines VERSION differs after an upgrade, so caches do not return old
    results.

    Args:
      ctx: the context of the repository rule.
      otherwise: a command whose output changes with the version, for a library
        that dpkg does not know. Empty if all files belong to this workspace.
    """
    query = ["dpkg-query", "-W", "-f", "${Version},"] + ctx.attr.package.split(" ")
    result = ctx.execute(query) if ctx.which("dpkg-query") else None
    if otherwise and (not result or result.return_code != 0):
        result = ctx.execute(otherwise)
    found = result.stdout if result and result.return_code == 0 else ""
    words = found.replace(",", " ").replace("\n", " ").split(" ")
    ctx.file("version.bzl", "VERSION = {}\n".format(
        repr("VERSION_OF_{}={}".format(
            ctx.name,
            ",".join([word for word in words if word]),
        )),
    ))

# The build file for a missing library that few targets need. Building the
# library fails.
_ABSENT = """
genrule(
    name = "absent",
    outs = ["absent.h"],
    cmd = "echo '{what} is not installed: apt-get install {package}' >&2; exit 1",
)

cc_library(
    name = "{library}",
    hdrs = [":absent"],
    visibility = ["//visibility:public"],
)
"""

def _is_absent(ctx):
    for path in ctx.attr.links:
        if not ctx.path(path).exists:
            return True
    return False

def _system_library_impl(ctx):
    if ctx.attr.optional_library:
        absent = _is_absent(ctx)
        ctx.file("installed.bzl", "INSTALLED = {}\n".format(not absent))
        if absent:
            ctx.file("BUILD.bazel", _ABSENT.format(
                what = ctx.name,
                library = ctx.attr.optional_library,
                package = ctx.attr.package,
            ))
            return
    for source, target in ctx.attr.links.items():
        ctx.symlink(_require(ctx, source, ctx.attr.package), target)
    for label, target in ctx.attr.files.items():
        ctx.symlink(label, target)
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")
    times = ["stat", "-L", "-c", "%Y"] + ctx.attr.links.keys()
    _write_version(ctx, times if ctx.attr.links else [])

system_library = repository_rule(
    implementation = _system_library_impl,
    doc = "A repository of symbolic links to one installed library.",
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Files of ours: label to path in the repository.",
        ),
        "links": attr.string_dict(
            doc = "Installed files or folders: path to path in the repository.",
        ),
        "optional_library": attr.string(
            doc = """The library's target, if the package may be missing: building
            it is then what fails. `installed.bzl` says whether it is there, by
            INSTALLED.""",
        ),
        "package": attr.string(
            mandatory = True,
            doc = "The Debian package that provides the library.",
        ),
    },
    environ = _ENVIRON,
    local = True,
)

def _pkg_config_libs(ctx, module):
    tool = _require(ctx, "/usr/bin/pkg-config", "pkg-config")
    result = ctx.execute([tool, "--libs", module])
    if result.return_code != 0:
        fail(_ADVICE.format(
            what = module,
            path = "pkg-config --libs " + module,
            package = ctx.attr.package,
        ))
    return [flag for flag in result.stdout.strip().split(" ") if flag]

_PACKAGE_HEADER = """# Generated from the system's pkg-config files.

load("//:version.bzl", "VERSION")

package(default_visibility = ["//visibility:public"])
"""

_LIBRARY = """
cc_library(
    name = {name},
    defines = [VERSION],
    linkopts = ["-D" + VERSION] + {linkopts},
)
"""

def _system_pkg_config_impl(ctx):
    folders = {}
    for label, modules in ctx.attr.targets.items():
        folder, name = label.split(":")
        linkopts = []
        for module in modules:
            linkopts += _pkg_config_libs(ctx, module)
        folders.setdefault(folder, []).append(
            _LIBRARY.format(name = repr(name), linkopts = repr(linkopts)),
        )
    ctx.file("BUILD.bazel")
    for folder, libraries in folders.items():
        ctx.file(
            (folder + "/" if folder else "") + "BUILD.bazel",
            _PACKAGE_HEADER + "".join(libraries),
        )
    modules = [module for needed in ctx.attr.targets.values() for module in needed]
    _write_version(ctx, ["pkg-config", "--modversion"] + modules[:1])

system_pkg_config = repository_rule(
    implementation = _system_pkg_config_impl,
    doc = """Libraries in the compiler's default folders, described by pkg-config.

    Their headers need no declaration; each target carries its link line.""",
    attrs = {
        "package": attr.string(mandatory = True),
        "targets": attr.string_list_dict(
            mandatory = True,
            doc = "Label in the repository to pkg-config modules.",
        ),
    },
    environ = ["PKG_CONFIG_PATH"] + _ENVIRON,
    local = True,
)
