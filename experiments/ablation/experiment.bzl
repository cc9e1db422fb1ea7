"""`experiment`: training as a build action."""

ExperimentInfo = provider(
    doc = "A training run and its results.",
    fields = {
        "files": "List of files of the run folder that a report on a grid reads.",
        "status": "File: status.json.",
    },
)

# The files of a run folder that training writes, with the output group of each.
_FILES = {
    "config.textproto": "config",
    "environment.json": "environment",
    "examples.jsonl": "examples",
    "failure.txt": "log",
    "metrics.jsonl": "metrics",
    "resolved.textproto": "config",
    "run.json": "config",
    "status.json": "status",
    "weights.safetensors": "weights",
}

# The files that the report adds, with the output group of each.
_REPORT_FILES = {
    "attention.json": "attention",
    "report.html": "report",
}

_REPORTED_FILES = [
    "attention.json",
    "environment.json",
    "examples.jsonl",
    "failure.txt",
    "metrics.jsonl",
    "resolved.textproto",
    "run.json",
    "status.json",
]

_RUN = """#!/bin/bash
# Trains {label} interactively: bazel run {label} -- [--run=DIR] [...]

set -euo pipefail

# Paths count from the root of the sources, as they do in the build action.
runfiles="$(cd "${{RUNFILES_DIR:-$0.runfiles}}/{workspace}" && pwd)"
export BUILD_WORKING_DIRECTORY="${{BUILD_WORKSPACE_DIRECTORY:-${{runfiles}}}}"
config={config}
if [[ ! -e "${{BUILD_WORKING_DIRECTORY}}/${{config}}" ]]; then
  config="${{runfiles}}/${{config}}"
fi
overrides=()
for file in {override_files}; do
  while IFS= read -r override; do
    overrides+=(--set "${{override}}")
  done <"${{runfiles}}/${{file}}"
done
exec "${{runfiles}}/"{trainer} --config="${{config}}" "${{overrides[@]}}" \\
  {overrides} "$@"
"""

# Prefixes of target tags that also apply to the action.
_ACTION_TAGS = ["no-", "requires-", "cpu:", "local"]

def shell_quote(text):
    """Returns the text as one quoted word of a shell command."""
    return "'" + text.replace("'", "'\\''") + "'"

def action_requirements(tags):
    """Returns the execution requirements that the tags of a target state."""
    return {
        tag: ""
        for tag in tags
        if [True for prefix in _ACTION_TAGS if tag.startswith(prefix)]
    }

def locate_runs(text, data):
    """Replaces each `$(location LABEL)` in a text by the folder of results.

    Args:
      text: a value of a field.
      data: targets. Only labels of experiments are replaced.

    Returns:
      the text with the replacements.
    """
    for target in data:
        if ExperimentInfo in target:
            folder = target[ExperimentInfo].status.dirname
            for label in [str(target.label), ":" + target.label.name]:
                text = text.replace("$(location {})".format(label), folder)
    if "$(location " in text:
        fail("data must have the experiment that $(location) names: {}".format(text))
    return text

def _declare(ctx, names):
    """Declares files of the run folder. Returns them by name."""
    return {
        name: ctx.actions.declare_file(ctx.label.name + "/" + name)
        for name in names
    }

def _experiment_impl(ctx):
    outputs = _declare(ctx, _FILES.keys() + ctx.attr.files)
    baseline = ctx.actions.declare_directory(ctx.label.name + "/baseline")
    checkpoints = ctx.actions.declare_directory(
        ctx.label.name + "/checkpoints",
    )
    results = outputs.values() + [baseline, checkpoints]
    data = [ctx.file.config] + ctx.files.override_file + ctx.files.data
    arguments = ctx.actions.args()
    arguments.add(outputs["status.json"].dirname)
    arguments.add(str(ctx.label))
    arguments.add("keep" if ctx.attr.keep_failure else "fail")
    arguments.add_joined(ctx.attr.files, join_with = " ", omit_if_empty = False)
    arguments.add_joined(ctx.files.override_file, join_with = " ", omit_if_empty = False)
    arguments.add(ctx.executable.cell)
    arguments.add("--threads=1")
    arguments.add("--omit_times")
    arguments.add(ctx.file.config, format = "--config=%s")
    overrides = [
        locate_runs(override, ctx.attr.data)
        for override in ctx.attr.overrides
    ]
    arguments.add_all(overrides, before_each = "--set")
    ctx.actions.run(
        executable = ctx.executable._train_as_action,
        arguments = [arguments],
        inputs = data,
        tools = [ctx.attr.cell[DefaultInfo].files_to_run],
        outputs = results,
        mnemonic = "Train",
        progress_message = "Training {}".format(ctx.label),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        execution_requirements = action_requirements(ctx.attr.tags),
    )

    # Writes the report in a separate action, so that a change of its code does
    # not repeat the training.
    pages = _declare(ctx, _REPORT_FILES.keys())
    arguments = ctx.actions.args()
    folder = outputs["status.json"].dirname
    arguments.add_all([folder, folder, ctx.executable.binary])
    arguments.add("--threads=1")
    arguments.add("--omit_times")
    ctx.actions.run(
        executable = ctx.executable._report_as_action,
        arguments = [arguments],
        inputs = data + results,
        tools = [ctx.attr.binary[DefaultInfo].files_to_run],
        outputs = pages.values(),
        mnemonic = "RunReport",
        progress_message = "Reporting on {}".format(ctx.label),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        execution_requirements = action_requirements(ctx.attr.tags),
    )
    outputs.update(pages)
    results = results + pages.values()

    # The folder of results has the name of the target, so the script needs a
    # different name.
    script = ctx.actions.declare_file(ctx.label.name + "/train")
    ctx.actions.write(script, _RUN.format(
        label = ctx.label,
        workspace = ctx.workspace_name,
        config = shell_quote(ctx.file.config.short_path),
        trainer = shell_quote(ctx.executable.binary.short_path),
        override_files = " ".join([
            shell_quote(file.short_path)
            for file in ctx.files.override_file
        ]),
        overrides = " ".join([
            "--set=" + shell_quote(override)
            for override in overrides
        ]),
    ), is_executable = True)
    to_run = ctx.runfiles(
        files = [script] + data,
    ).merge(ctx.attr.binary[DefaultInfo].default_runfiles)
    groups = {}
    for name, group in _FILES.items() + _REPORT_FILES.items():
        groups[group] = groups.get(group, []) + [outputs[name]]
    return [
        DefaultInfo(
            executable = script,
            files = depset(results),
            # Running the target does not require the results, but a test that
            # depends on the target does.
            default_runfiles = to_run,
            data_runfiles = ctx.runfiles(files = results),
        ),
        ExperimentInfo(
            files = [outputs[name] for name in _REPORTED_FILES],
            status = outputs["status.json"],
        ),
        OutputGroupInfo(
            checkpoint = depset([checkpoints]),
            **{group: depset(files) for group, files in groups.items()}
        ),
    ]

_experiment = rule(
    implementation = _experiment_impl,
    executable = True,
    attrs = {
        "binary": attr.label(
            mandatory = True,
            executable = True,
            # The configuration of tests, so that they share this build of the
            # trainer.
            cfg = "target",
        ),
        "cell": attr.label(mandatory = True, executable = True, cfg = "target"),
        "config": attr.label(mandatory = True, allow_single_file = True),
        "data": attr.label_list(allow_files = True),
        "files": attr.string_list(),
        "keep_failure": attr.bool(),
        "override_file": attr.label(allow_single_file = True),
        "overrides": attr.string_list(),
        "_report_as_action": attr.label(
            default = Label("//experiments/ablation:report_as_action"),
            executable = True,
            cfg = "target",
        ),
        "_train_as_action": attr.label(
            default = Label("//experiments/ablation:train_as_action"),
            executable = True,
            cfg = "target",
        ),
    },
)

def program_beside(binary, suffix):
    """Returns the label of another program of a `regard_binary`.

    Args:
      binary: label of the `regard_binary`.
      suffix: suffix of the program's name, such as "cell".

    Returns:
      the label, such as `:train_cell`.
    """
    label = str(binary)
    if ":" not in label:
        label += ":" + label.rpartition("/")[2]
    return "{}_{}".format(label, suffix)

def skipped_when_slow():
    """Returns a `target_compatible_with` for targets that train.

    Debug and sanitizer builds skip such targets, because these builds are many
    times slower and change the bits of the results.
    """
    return select({
        str(Label("//experiments/ablation:debug")): [
            Label("//experiments/ablation:optimized_build"),
        ],
        "//conditions:default": [],
    }) + select({
        str(Label("//experiments/ablation:sanitized")): [
            Label("//experiments/ablation:plain_build"),
        ],
        "//conditions:default": [],
    })

def override_arguments(overrides):
    """Returns a list of `path=value` strings from such a list, or from a dict.

    In a dict, values may be numbers and booleans as well.
    """
    if type(overrides) == "list":
        return overrides
    return [
        "{}={}".format(path, override_value(value))
        for path, value in overrides.items()
    ]

def override_value(value):
    """Returns a value in the syntax of configs."""
    if type(value) == "bool":
        return "true" if value else "false"
    return str(value)

def experiment(
        name,
        config,
        data = [],
        overrides = {},
        files = [],
        binary = Label("//experiments:train"),
        **kwargs):
    """A training run as a build action. Its results are in `bazel-bin/PACKAGE/NAME/`.

    That folder has the layout of a run folder. Its bytes depend only on the
    config, the program and the data. Output groups: metrics, status, config,
    report, attention, weights, checkpoint, environment, examples.
    weights.safetensors has the weights that the metrics describe. With early
    stopping, averaging or a moving average, they are not the last weights.
    `bazel run` trains the same config interactively, in a new folder under runs/.

    Args:
      name: name of the experiment.
      config: config file.
      data: all other files that training reads: base configs, corpora, and
        experiments with whose weights training begins. Paths in configs are
        relative to the root of the sources.
      overrides: dict of field path to value, or list of `path=value`.
        `$(location LABEL)` in it is the run folder of an experiment in `data`.
      files: names of further files of the run folder to keep. The task writes
        them, such as vocabularies, and the weights cannot be used without them.
      binary: a `regard_binary`. NAME_cell trains, and NAME writes the report.
      **kwargs: tags, visibility and other attributes.
    """
    _experiment(
        name = name,
        config = config,
        data = data,
        overrides = override_arguments(overrides),
        files = files,
        binary = binary,
        cell = program_beside(binary, "cell"),
        target_compatible_with = skipped_when_slow(),
        **kwargs
    )
