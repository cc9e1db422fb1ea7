"""`ablation`: a grid of experiments and one report on it."""

load(
    "//experiments/ablation:experiment.bzl",
    "ExperimentInfo",
    "experiment",
    "locate_runs",
    "override_arguments",
    "override_value",
    "shell_quote",
    "skipped_when_slow",
)

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

def _check_impl(ctx):
    cells = ctx.actions.declare_file(ctx.label.name + ".cells")
    ctx.actions.write(cells, "".join([
        locate_runs(cell, ctx.attr.data) + "\n"
        for cell in ctx.attr.cells
    ]))
    output = ctx.actions.declare_file(ctx.label.name + ".ok")
    arguments = ctx.actions.args()
    arguments.add(output)
    arguments.add(ctx.attr.ablation)
    arguments.add(cells)
    arguments.add(ctx.executable.binary)
    arguments.add(ctx.file.config, format = "--config=%s")
    ctx.actions.run(
        executable = ctx.executable._check_cells,
        arguments = [arguments],
        inputs = [cells, ctx.file.config] + ctx.files.data,
        tools = [ctx.attr.binary[DefaultInfo].files_to_run],
        outputs = [output],
        mnemonic = "CheckCells",
        progress_message = "Checking the cells of {}".format(ctx.attr.ablation),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    return [DefaultInfo(files = depset([output]))]

_check = rule(
    implementation = _check_impl,
    attrs = {
        "ablation": attr.string(mandatory = True),
        "binary": attr.label(mandatory = True, executable = True, cfg = "target"),
        "cells": attr.string_list(mandatory = True),
        "config": attr.label(mandatory = True, allow_single_file = True),
        "data": attr.label_list(allow_files = True),
        "_check_cells": attr.label(
            default = Label("//experiments/ablation:check_cells"),
            executable = True,
            cfg = "target",
        ),
    },
)

def _report_impl(ctx):
    description = json.decode(ctx.attr.description)
    description["label"] = str(ctx.label)
    description["runs"] = [
        struct(
            label = str(cell.label),
            coordinates = cell[ExperimentInfo].coordinates,
            seed = cell[ExperimentInfo].seed,
            folder = cell[ExperimentInfo].status.dirname,
        )
        for cell in ctx.attr.cells
    ]
    grid = ctx.actions.declare_file(ctx.label.name + ".grid.json")
    ctx.actions.write(grid, json.encode_indent(description) + "\n")
    markdown = ctx.actions.declare_file(ctx.label.name + ".md")
    table = ctx.actions.declare_file(ctx.label.name + ".csv")
    page = ctx.actions.declare_file(ctx.label.name + ".html")
    arguments = ctx.actions.args()
    arguments.add_all(["report", grid, markdown, table, page])
    ctx.actions.run(
        executable = ctx.executable._results_tool,
        arguments = [arguments],
        inputs = [grid] + [
            file
            for cell in ctx.attr.cells
            for file in cell[ExperimentInfo].files
        ],
        outputs = [markdown, table, page],
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
            files = depset([markdown, table, page]),
            runfiles = ctx.runfiles(files = [markdown, table, page]),
        ),
        OutputGroupInfo(
            markdown = depset([markdown]),
            csv = depset([table]),
            html = depset([page]),
        ),
    ]

_report = rule(
    implementation = _report_impl,
    executable = True,
    attrs = {
        "cells": attr.label_list(mandatory = True, providers = [ExperimentInfo]),
        "description": attr.string(mandatory = True),
        "_results_tool": attr.label(
            default = Label("//experiments/ablation:results_tool"),
            executable = True,
            cfg = "target",
        ),
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
    """The text in [a-z0-9_]: `1e-3` is `1em3`, `0.1` is `0p1`."""
    text = text.lower().replace(".", "p").replace("-", "m")
    return "".join([
        c if c.isalnum() else "_"
        for c in text.elems()
    ])

def _axis_value(path, value):
    """An axis value as a struct of label, name in targets, and overrides."""
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
    """Those of an axis; a name that another one has ends in `_2`, `_3`, ..."""
    distinct = []
    for value in [_axis_value(path, value) for value in values]:
        taken = [other.name for other in distinct]
        names = [value.name] + ["{}_{}".format(value.name, i + 2) for i in range(len(taken))]
        name = [name for name in names if name not in taken][0]
        distinct.append(struct(label = value.label, name = name, overrides = value.overrides))
    return distinct

def _cells(axes):
    """The Cartesian product: lists of axis values, the last axis fastest."""
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

    `bazel build` makes the report, and `bazel run` prints it. `bazel run` of
    NAME_update copies it to the folder `results`. Each run is an `experiment`
    NAME__AXIS_VALUE__...__seed_N, tagged manual.

    Args:
      name: name of the report.
      base: config that all runs share.
      axes: dict of field path to a list of values. A value may also be a dict
        of `label` and `overrides` (as for `experiment`). The key is then only
        the name of the axis. The first value of an axis is its baseline.
      seeds: number of seeds, counted from 0, or a list of seeds. One comparison
        needs six seeds to be significant, m comparisons need 1 + log2(20 m).
      question: one sentence that opens the report.
      baseline: dict of axis to its baseline, a value or a label. Default: the
        first value of the axis.
      metrics: names of the metrics that the table shows. Default: all test/
        metrics; without any, all dev/ metrics; without any, all metrics.
      data: as for `experiment`.
      overrides: overrides of all runs, before the overrides of the axes.
      binary: training program.
      results: folder that NAME_update writes, from the root of the sources.
      tags: tags of the report. Give `manual` unless the grid takes seconds.
      testonly: whether the targets are testonly, as a testonly `binary`
        requires.
      **kwargs: visibility and other attributes of the report.
    """
    label = "//{}:{}".format(native.package_name(), name)
    if not axes:
        fail("{}: axes must not be empty".format(label))
    seed_list = range(seeds) if type(seeds) == "int" else seeds
    if not seed_list:
        fail("{}: seeds must not be empty".format(label))
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
    common = override_arguments(overrides)
    check_lines = []
    runs = []
    for cell in _cells(axis_list):
        cell_name = "__".join([value.name for value in cell])
        cell_overrides = common + [
            override
            for value in cell
            for override in value.overrides
        ]
        for override in cell_overrides:
            if "\t" in override or "\n" in override:
                fail("{}: an override must be on one line: {}".format(label, override))
            if override.partition("=")[0].strip() == "seed":
                fail("{}: {}: must not set seed; `seeds` sets it".format(label, override))
        check_lines.append("\t".join(
            [cell_name] + cell_overrides + ["seed={}".format(seed_list[0])],
        ))
        for seed in seed_list:
            run = "{}__{}__seed_{}".format(name, cell_name, seed)
            runs.append(run)
            experiment(
                name = run,
                config = base,
                data = data,
                overrides = cell_overrides + ["seed={}".format(seed)],
                binary = binary,
                check = name + "_check",
                coordinates = [value.label for value in cell],
                seed = str(seed),
                keep_failure = True,
                tags = ["manual"],
                testonly = testonly,
            )
    _check(
        name = name + "_check",
        ablation = label,
        binary = binary,
        cells = check_lines,
        config = base,
        data = data,
        tags = ["manual"],
        target_compatible_with = skipped_when_slow(),
        testonly = testonly,
    )
    _report(
        name = name,
        cells = runs,
        description = json.encode(struct(
            name = name,
            question = question,
            metrics = metrics,
            axes = [
                struct(
                    name = path,
                    baseline = baselines.get(path, values[0].label),
                    values = [
                        struct(label = value.label, overrides = value.overrides)
                        for value in values
                    ],
                )
                for path, values in axis_list
            ],
        )),
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
