"""`experiment_test`: bounds on the metrics of an experiment."""

load(
    "//experiments/ablation:experiment.bzl",
    "ExperimentInfo",
    "shell_quote",
    "skipped_when_slow",
)

_SCRIPT = """#!/bin/bash
exec {checker} check {status} {bounds}
"""

def _experiment_test_impl(ctx):
    status = ctx.attr.experiment[ExperimentInfo].status
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, _SCRIPT.format(
        checker = shell_quote(ctx.executable._results_program.short_path),
        status = shell_quote(status.short_path),
        bounds = " ".join([shell_quote(bound) for bound in ctx.attr.expect]),
    ), is_executable = True)
    return [DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles(files = [status]).merge(
            ctx.attr._results_program[DefaultInfo].default_runfiles,
        ),
    )]

_experiment_test = rule(
    implementation = _experiment_test_impl,
    test = True,
    attrs = {
        "expect": attr.string_list(mandatory = True),
        "experiment": attr.label(
            mandatory = True,
            providers = [ExperimentInfo],
        ),
        "_results_program": attr.label(
            default = Label("//experiments:train_results"),
            executable = True,
            cfg = "target",
        ),
    },
)

def experiment_test(name, experiment, expect, **kwargs):
    """A test that passes if the final metrics of an experiment are within bounds.

    Args:
      name: name of the test.
      experiment: an `experiment`.
      expect: dict of metric to a bound or a list of bounds, such as
        `{"test/exact_match": ">= 0.95", "dev/mse": [">= 0.01", "<= 0.2"]}`.
        A bound is <, <=, >, >= or == and a number.
      **kwargs: size, tags and other attributes.
    """
    bounds = []
    for metric, limits in expect.items():
        for limit in [limits] if type(limits) == "string" else limits:
            words = limit.split(" ")
            if len(words) != 2 or words[0] not in ["<", "<=", ">", ">=", "=="]:
                fail("//{}:{}: {}: a bound must be like '>= 0.95', got '{}'".format(
                    native.package_name(),
                    name,
                    metric,
                    limit,
                ))
            bounds.append("{} {}".format(metric, limit))
    _experiment_test(
        name = name,
        experiment = experiment,
        expect = bounds,
        target_compatible_with = skipped_when_slow(),
        **kwargs
    )
