"""`experiment`: training as a build action."""

ExperimentInfo = provider(
    doc = "A training run and its results.",
    fields = {
        "coordinates": "List of value labels, one for each axis of a grid.",
        "files": "List of files of the run folder that a report on a grid reads.",
        "seed": "String: the seed, of a cell.",
        "status": "File: status.json.",
    },
)

# The files of a run folder that a run leaves, with the output group of each.
_FILES = {
    "attention.json": "attention",
    "config.textproto": "config",
    "environment.json": "environment",
    "examples.jsonl": "examples",
    "failure.txt": "log",
    "metrics.jsonl": "metrics",
    "report.html": "report",
    "resolved.textproto": "config",
    "run.json": "config",
    "status.json": "status",
    "weights.safetensors": "weights",
}

_REPORTED_FILES = [
    "attention.json",
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
exec "${{runfiles}}/"{trainer} --config="${{config}}" {overrides} "$@"
"""

# What a tag says of a target that holds for its action too.
_ACTION_TAGS = ["no-", "requires-", "cpu:", "local"]

def shell_quote(text):
    """The text as one word of a shell command."""
    return "'" + text.replace("'", "'\\''") + "'"

def action_requirements(tags):
    """The execution requirements that tags of a target state."""
    return {
        tag: ""
        for tag in tags
        if [True for prefix in _ACTION_TAGS if tag.startswith(prefix)]
    }

def locate_runs(text, data):
    """The text with the folder of results for each `$(location LABEL)`.

    Args:
      text: a value of a field.
      data: targets; those of them that are experiments are replaced.

    Returns:
      the text.
    """
    for target in data:
        if ExperimentInfo in target:
            folder = target[ExperimentInfo].status.dirname
            for label in [str(target.label), ":" + target.label.name]:
                text = text.replace("$(location {})".format(label), folder)
    if "$(location " in text:
        fail("data must have the experiment that $(location) names: {}".format(text))
    return text

def _experiment_impl(ctx):
    outputs = {
        name: ctx.actions.declare_file(ctx.label.name + "/" + name)
        for name in _FILES.keys() + ctx.attr.files
    }
    checkpoints = ctx.actions.declare_directory(
        ctx.label.name + "/checkpoints",
    )
    results = outputs.values() + [checkpoints]
    arguments = ctx.actions.args()
    arguments.add(outputs["status.json"].dirname)
    arguments.add(str(ctx.label))
    arguments.add("keep" if ctx.attr.keep_failure else "fail")
    arguments.add_joined(ctx.attr.files, join_with = " ", omit_if_empty = False)
    arguments.add(ctx.executable.binary)
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
        inputs = [ctx.file.config] + ctx.files.data + ctx.files.check,
        tools = [ctx.attr.binary[DefaultInfo].files_to_run],
        outputs = results,
        mnemonic = "Train",
        progress_message = "Training {}".format(ctx.label),
        env = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        execution_requirements = action_requirements(ctx.attr.tags),
    )

    # Not called like the target, whose name the folder of results has.
    script = ctx.actions.declare_file(ctx.label.name + "/train")
    ctx.actions.write(script, _RUN.format(
        label = ctx.label,
        workspace = ctx.workspace_name,
        config = shell_quote(ctx.file.config.short_path),
        trainer = shell_quote(ctx.executable.binary.short_path),
        overrides = " ".join([
            "--set=" + shell_quote(override)
            for override in overrides
        ]),
    ), is_executable = True)
    to_run = ctx.runfiles(
        files = [script, ctx.file.config] + ctx.files.data,
    ).merge(ctx.attr.binary[DefaultInfo].default_runfiles)
    groups = {}
    for name, group in _FILES.items():
        groups[group] = groups.get(group, []) + [outputs[name]]
    return [
        DefaultInfo(
            executable = script,
            files = depset(results),
            # A run does not need the results; a test that has them as data does.
            default_runfiles = to_run,
            data_runfiles = ctx.runfiles(files = results),
        ),
        ExperimentInfo(
            coordinates = ctx.attr.coordinates,
            files = [outputs[name] for name in _REPORTED_FILES],
            seed = ctx.attr.seed,
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
            # The same build of the trainer as tests use.
            cfg = "target",
        ),
        "check": attr.label(),
        "config": attr.label(mandatory = True, allow_single_file = True),
        "coordinates": attr.string_list(),
        "data": attr.label_list(allow_files = True),
        "files": attr.string_list(),
        "keep_failure": attr.bool(),
        "overrides": attr.string_list(),
        "seed": attr.string(),
        "_train_as_action": attr.label(
            default = Label("//experiments/ablation:train_as_action"),
            executable = True,
            cfg = "target",
        ),
    },
)

def skipped_when_slow():
    """A `target_compatible_with` for what trains.

    Debug and sanitizer builds are many times slower, and change bits: they
    leave such targets out.
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
    """`path=value` strings from such a list, or from a dict.

    In a dict, values may be numbers and booleans as well.
    """
    if type(overrides) == "list":
        return overrides
    return [
        "{}={}".format(path, override_value(value))
        for path, value in overrides.items()
    ]

def override_value(value):
    """A value as a config spells it."""
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
    """A training run as a build action; its results are in `bazel-bin/PACKAGE/NAME/`.

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
        experiments that this one starts from. Paths in configs count from the
        root of the sources.
      overrides: dict of field path to value, or list of `path=value`.
        `$(location LABEL)` in it is the run folder of an experiment in `data`.
      files: names of further files of the run folder to keep. The task writes
        them, such as vocabularies, and the weights cannot be used without them.
      binary: training program, such as a `regard_binary`.
      **kwargs: tags, visibility and other attributes.
    """
    _experiment(
        name = name,
        config = config,
        data = data,
        overrides = override_arguments(overrides),
        files = files,
        binary = binary,
        target_compatible_with = skipped_when_slow(),
        **kwargs
    )
