"""`claims_report`: a comparison of published numbers with our results."""

load(
    "//experiments/ablation:experiment.bzl",
    "ExperimentInfo",
    "shell_quote",
    "skipped_when_slow",
)

_PRINT = """#!/bin/bash
# Prints the report of {label}.
exec cat "${{RUNFILES_DIR:-$0.runfiles}}/{workspace}/"{report}
"""

def _claims_report_impl(ctx):
    report = ctx.actions.declare_file(ctx.label.name + ".md")
    arguments = ctx.actions.args()
    arguments.add_all(["claims", ctx.file.claims, report])
    statuses = []
    for experiment in ctx.attr.experiments:
        status = experiment[ExperimentInfo].status
        statuses.append(status)
        label = "//{}:{}".format(experiment.label.package, experiment.label.name)
        arguments.add(status, format = label + "=%s")
    ctx.actions.run(
        executable = ctx.executable._results_program,
        arguments = [arguments],
        inputs = [ctx.file.claims] + statuses,
        outputs = [report],
        mnemonic = "ClaimsReport",
    )
    script = ctx.actions.declare_file(ctx.label.name + ".print")
    ctx.actions.write(script, _PRINT.format(
        label = ctx.label,
        workspace = ctx.workspace_name,
        report = shell_quote(report.short_path),
    ), is_executable = True)
    return [DefaultInfo(
        executable = script,
        files = depset([report]),
        runfiles = ctx.runfiles(files = [report]),
    )]

_claims_report = rule(
    implementation = _claims_report_impl,
    executable = True,
    attrs = {
        "claims": attr.label(mandatory = True, allow_single_file = True),
        "experiments": attr.label_list(providers = [ExperimentInfo]),
        "_results_program": attr.label(
            default = Label("//experiments:train_results"),
            executable = True,
            cfg = "target",
        ),
    },
)

def claims_report(name, claims, experiments, **kwargs):
    """A report, NAME.md, on whether our results confirm published numbers.

    Args:
      name: name of the report; `bazel run` prints it.
      claims: text file with a `regard.Claims`.
      experiments: experiments that the claims name. A claim about another
        experiment is reported as not run.
      **kwargs: tags and other attributes.
    """
    _claims_report(
        name = name,
        claims = claims,
        experiments = experiments,
        target_compatible_with = skipped_when_slow(),
        **kwargs
    )
