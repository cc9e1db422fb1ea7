"""The facts about a package that the lint tests need, written as JSON.

The compiler finds Debian's headers without dependencies, so a forgotten
dependency still builds. With these facts, a test compares each `#include` with
the declared `deps`.
"""

_LintFactsInfo = provider(
    doc = "What one target offers and uses.",
    fields = {
        "facts": "The target as a struct for JSON.",
        "headers": "Include paths that a dependency on the target grants.",
    },
)

def _paths(rule, attribute):
    return [file.short_path for file in getattr(rule.files, attribute, [])]

def _lint_facts_aspect_impl(target, ctx):
    if target.label.workspace_name:
        return [_LintFactsInfo(headers = [], facts = None)]
    headers = _paths(ctx.rule, "hdrs") + _paths(ctx.rule, "textual_hdrs")
    sources = _paths(ctx.rule, "srcs")
    deps = getattr(ctx.rule.attr, "deps", [])
    granted = headers
    if ctx.rule.kind == "proto_library":
        granted = [path[:-len(".proto")] + ".pb.h" for path in sources]
    elif not headers and not sources:
        # A library without files, such as a cc_proto_library, passes on the
        # headers of its deps.
        granted = [path for dep in deps for path in dep[_LintFactsInfo].headers]
    return [_LintFactsInfo(
        headers = granted,
        facts = struct(
            label = str(target.label),
            kind = ctx.rule.kind,
            testonly = ctx.rule.attr.testonly,
            sources = headers + sources,
            deps = [
                struct(
                    label = str(dep.label),
                    external = dep.label.workspace_name != "",
                    headers = dep[_LintFactsInfo].headers,
                )
                for dep in deps
            ],
        ),
    )]

_lint_facts_aspect = aspect(
    implementation = _lint_facts_aspect_impl,
    attr_aspects = ["deps"],
)

def _lint_facts_impl(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(output, struct(
        package = ctx.label.package,
        files = [file.short_path for file in ctx.files.srcs],
        targets = [target[_LintFactsInfo].facts for target in ctx.attr.targets],
    ).to_json())
    return [DefaultInfo(
        files = depset([output]),
        runfiles = ctx.runfiles(files = [output] + ctx.files.srcs),
    )]

lint_facts = rule(
    implementation = _lint_facts_impl,
    doc = "Writes the package's files and C++ targets to <name>.json; its runfiles " +
          "are the files, too.",
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "targets": attr.label_list(aspects = [_lint_facts_aspect]),
    },
)
