"""`ablation`: a grid of experiments, with one report."""

load(
    "//experiments/ablation:experiment.bzl",
    "ExperimentInfo",
    "experiment",
    "locate_runs",
    "override_arguments",
    "override_value",
    "program_beside",
    "shell_quote",
    "skipped_when_slow",
)

_SWEEP = """# proto-file: experiments/sweep/sweep.proto
# proto-message: regard.Sweep

# Generated for {label}.
config: {config}
"""

_PRINT = """#!/bin/bash
# Prints the report of {label}.
exec cat "${{RUNFILES_DIR:-$0.runfiles}}/{workspace}/"{report}
"""

_UPDATE = """#!/bin/bash
# Copies the report of {label} into the sources.

set -euo pipefail

cd "${{RUNFILES_DIR:-$0.runfiles}}/{workspace}"
folder="${{BUILD_WORKSPACE_DIRECTORY:?start this with bazel run}}/"{folder}
mkdir -p "${{folder}}"
for report in {reports}; do
  install -m 644 "$(readlink -f "${{report}}")" \\
    "${{folder}}/$(basename "${{report}}")"
  echo "wrote ${{folder}}/$(basename "${{report}}")"
done
"""

def _plan_impl(ctx):
    sweep = ctx.actions.declare_file(ctx.label.name + ".textproto")
    text = locate_runs(ctx.attr.sweep, ctx.attr.data)
    ctx.actions.write(sweep, _SWEEP.format(
        label = ctx.label,
        config = _quote(ctx.file.config.path),
    ) + text)
    arguments = ctx.actions.args()
    arguments.add_all(["plan", sweep] + ctx.outputs.arms)
    ctx.actions.run(
        executable = ctx.executable.results_program,
        arguments = [arguments],
        inputs = [sweep, ctx.file.config] + ctx.files.data,
        outputs = ctx.outputs.arms,
        mnemonic = "PlanCells",
        progress_message = "Checking the cells of {}".format(ctx.label),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    return [DefaultInfo(
        files = depset([sweep]),
        runfiles = ctx.runfiles(files = [sweep]),
    )]

_plan = rule(
    implementation = _plan_impl,
    attrs = {
        "arms": attr.output_list(mandatory = True),
        "config": attr.label(mandatory = True, allow_single_file = True),
        "data": attr.label_list(allow_files = True),
        "results_program": attr.label(mandatory = True, executable = True, cfg = "target"),
        "sweep": attr.string(mandatory = True),
    },
)

def _report_impl(ctx):
    markdown = ctx.actions.declare_file(ctx.label.name + ".md")
    table = ctx.actions.declare_file(ctx.label.name + ".csv")
    page = ctx.actions.declare_file(ctx.label.name + ".html")
    records = ctx.actions.declare_file(ctx.label.name + ".cells.jsonl")
    arguments = ctx.actions.args()
    arguments.add_all([
        "report",
        ctx.file.sweep,
        str(ctx.label),
        markdown,
        table,
        page,
        records,
    ])
    arguments.add_all([
        cell[ExperimentInfo].status.dirname
        for cell in ctx.attr.cells
    ])
    outputs = [markdown, table, page, records]
    ctx.actions.run(
        executable = ctx.executable.results_program,
        arguments = [arguments],
        inputs = [ctx.file.sweep] + [
            file
            for cell in ctx.attr.cells
            for file in cell[ExperimentInfo].files
        ],
        outputs = outputs,
        mnemonic = "AblationReport",
        progress_message = "Reporting on {}".format(ctx.label),
    )
    script = ctx.actions.declare_file(ctx.label.name + ".print")
    ctx.actions.write(script, _PRINT.format(
        label = ctx.label,
        workspace = ctx.workspace_name,
        report = shell_quote(markdown.short_path),
    ), is_executable = True)
    return [
        DefaultInfo(
            executable = script,
            files = depset(outputs),
            runfiles = ctx.runfiles(files = outputs),
        ),
        OutputGroupInfo(
            markdown = depset([markdown]),
            csv = depset([table]),
            html = depset([page]),
            cells = depset([records]),
        ),
    ]

_report = rule(
    implementation = _report_impl,
    executable = True,
    attrs = {
        "cells": attr.label_list(mandatory = True, providers = [ExperimentInfo]),
        "results_program": attr.label(mandatory = True, executable = True, cfg = "target"),
        "sweep": attr.label(mandatory = True, allow_single_file = True),
    },
)

def _update_impl(ctx):
    reports = [
        file
        for group in ["markdown", "csv"]
        for file in ctx.attr.report[OutputGroupInfo][group].to_list()
    ]
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(script, _UPDATE.format(
        label = ctx.attr.report.label,
        workspace = ctx.workspace_name,
        folder = shell_quote(ctx.attr.folder),
        reports = " ".join([shell_quote(file.short_path) for file in reports]),
    ), is_executable = True)
    return [DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles(files = reports),
    )]

_update = rule(
    implementation = _update_impl,
    executable = True,
    attrs = {
        "folder": attr.string(mandatory = True),
        "report": attr.label(mandatory = True),
    },
)

def _slug(text):
    """Returns the text in [a-z0-9_]: `1e-3` becomes `1em3`, `0.1` becomes `0p1`."""
    text = text.lower().replace(".", "p").replace("-", "m")
    return "".join([
        c if c.isalnum() else "_"
        for c in text.elems()
    ])

def _quote(text):
    """Returns the text as a quoted string of a textproto."""
    text = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")
    return "\"" + text + "\""

def _override_text(override):
    """Returns `path=value` as an `override` of a textproto."""
    path, _, value = override.partition("=")
    if path.strip() == "seed":
        fail("{}: must not set seed; `seeds` sets it".format(override))
    return "override {{ path: {} value: {} }}".format(
        _quote(path.strip()),
        _quote(value),
    )

def _axis_value(path, value):
    """Returns an axis value as a struct of label, target name and overrides."""
    if type(value) == "dict":
        unknown = [key for key in value if key not in ["label", "overrides"]]
        if unknown or "label" not in value:
            fail("axis {}: a dict value must have `label`, and may have `overrides`; got {}".format(path, unknown or value.keys()))
        label = value["label"]
        return struct(
            label = label,
            name = _slug(label),
            overrides = override_arguments(value.get("overrides", {})),
        )
    text = override_value(value)
    last = path.rpartition(".")[2]
    return struct(
        label = text,
        name = "{}_{}".format(_slug(last), _slug(text)),
        overrides = ["{}={}".format(path, text)],
    )

def _axis_values(path, values):
    """Returns the values of an axis. Repeated names end in `_2`, `_3`, ..."""
    distinct = []
    for value in [_axis_value(path, value) for value in values]:
        taken = [other.name for other in distinct]
        names = [value.name] + ["{}_{}".format(value.name, i + 2) for i in range(len(taken))]
        name = [name for name in names if name not in taken][0]
        distinct.append(struct(label = value.label, name = name, overrides = value.overrides))
    return distinct

def _axis_text(path, values, baseline):
    """Returns an axis as an `axis` of a textproto."""
    lines = ["axis {", "  name: " + _quote(path)]
    for value in values:
        lines.append("  value {")
        lines.append("    label: " + _quote(value.label))
        for override in value.overrides:
            lines.append("    " + _override_text(override))
        lines.append("  }")
    if baseline != None:
        lines.append("  baseline: " + _quote(baseline))
    return "\n".join(lines + ["}"]) + "\n"

def _cells(axes):
    """Returns the Cartesian product: lists of axis values, the last axis fastest."""
    cells = [[]]
    for _, values in axes:
        cells = [cell + [value] for cell in cells for value in values]
    return cells

def ablation(
        name,
        base,
        axes,
        seeds = 6,
        question = "",
        baseline = {},
        metrics = [],
        data = [],
        overrides = {},
        binary = Label("//experiments:train"),
        results = "docs/results",
        tags = [],
        testonly = False,
        **kwargs):
    """A grid of training runs, and the report NAME.md, NAME.csv, NAME.html.

    NAME_sweep.textproto describes the grid (experiments/sweep/sweep.proto), and
    `regard sweep --grid` trains the same runs from it. NAME.cells.jsonl has the
    records of finished runs, for `regard sweep --cells`.

    `bazel build` makes the report, and `bazel run` prints it. `bazel run` of
    NAME_update copies it to the folder `results`. Each run is an `experiment`
    NAME__AXIS_VALUE__...__seed_N, tagged manual.

    Args:
      name: name of the report.
      base: config that all runs share.
      axes: dict of field path to a list of values, in which a message does not
        need braces: `dot` stands for `{dot {}}`. A value may also be a dict
        of `label` and `overrides` (as for `experiment`). The key is then only
        the name of the axis. The first value of an axis is its baseline.
      seeds: number of seeds, counted from 0. One comparison needs six seeds to
        be significant, and m comparisons need 1 + log2(20 m).
      question: one sentence that opens the report.
      baseline: dict of axis to its baseline, a value or a label. Default: the
        first value of the axis.
      metrics: names of the metrics that the table shows. Default: the first of
        these lists that is not empty: all test/ metrics, all dev/ metrics, all
        metrics.
      data: as for `experiment`.
      overrides: overrides of all runs, before the overrides of the axes.
      binary: training program.
      results: folder that NAME_update writes, from the root of the sources.
      tags: tags of the report. Use `manual` unless the grid takes seconds.
      testonly: whether the targets are testonly, as a testonly `binary`
        requires.
      **kwargs: visibility and other attributes of the report.
    """
    label = "//{}:{}".format(native.package_name(), name)
    if not axes:
        fail("{}: axes must not be empty".format(label))
    if type(seeds) != "int" or seeds < 1:
        fail("{}: seeds must be a number of seeds, got {}".format(label, seeds))
    axis_list = [
        (path, _axis_values(path, values))
        for path, values in axes.items()
    ]
    for path, values in axis_list:
        if not values:
            fail("{}: axis {} has no values".format(label, path))
        labels = [value.label for value in values]
        for i, value in enumerate(labels):
            if value in labels[:i]:
                fail("{}: axis {}: {} appears twice".format(label, path, value))
    baselines = {path: override_value(value) for path, value in baseline.items()}
    for path, value in baselines.items():
        if path not in axes:
            fail("{}: baseline: there is no axis {}; the axes are {}".format(label, path, ", ".join(axes.keys())))
        labels = [v.label for p, values in axis_list for v in values if p == path]
        if value not in labels:
            fail("{}: baseline: axis {} has no value {}; its values are {}".format(label, path, value, ", ".join(labels)))
    sweep = "".join([
        "name: {}\n".format(_quote(name)),
        "question: {}\n".format(_quote(question)) if question else "",
        "seeds: {}\n".format(seeds),
    ] + [
        "metrics: {}\n".format(_quote(metric))
        for metric in metrics
    ] + [
        _override_text(override) + "\n"
        for override in override_arguments(overrides)
    ] + [
        _axis_text(path, values, baselines.get(path))
        for path, values in axis_list
    ])
    results_program = program_beside(binary, "results")
    arms = [
        "__".join([name] + [value.name for value in cell])
        for cell in _cells(axis_list)
    ]
    _plan(
        name = name + "_sweep",
        arms = [arm + ".overrides" for arm in arms],
        config = base,
        data = data,
        results_program = results_program,
        sweep = sweep,
        tags = ["manual"],
        target_compatible_with = skipped_when_slow(),
        testonly = testonly,
    )
    runs = []
    for seed in range(seeds):
        for arm in arms:
            runs.append("{}__seed_{}".format(arm, seed))
            experiment(
                name = runs[-1],
                config = base,
                data = data,
                overrides = {"seed": seed},
                override_file = arm + ".overrides",
                binary = binary,
                keep_failure = True,
                tags = ["manual"],
                testonly = testonly,
            )
    _report(
        name = name,
        cells = runs,
        results_program = results_program,
        sweep = name + "_sweep",
        tags = tags,
        target_compatible_with = skipped_when_slow(),
        testonly = testonly,
        **kwargs
    )
    _update(
        name = name + "_update",
        folder = results,
        report = name,
        tags = ["manual"],
        target_compatible_with = skipped_when_slow(),
        testonly = testonly,
    )
