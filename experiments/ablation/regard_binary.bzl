"""`regard_binary`: programs with custom plug-ins."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("//experiments/ablation:link_digest.bzl", "link_digest")
load("//options:plugin_list.bzl", "generated_source", "registration")

_MAIN = """// Generated for {label}.
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
{includes}
namespace regard {{
extern const char kComputeDigest[];
{declarations}
}}  // namespace regard

int main(int argc, char** argv) {{
{before}  regard::Plugins plugins = regard::BuiltInPlugins();
  plugins.compute_digest = regard::kComputeDigest;
{calls}  return {call};
}}
"""

# The type of the registry for each kind of plug-in, and the expression for this
# registry in main().
_KINDS = {
    "head_outputs": ("HeadOutputRegistry", "plugins.scorers.head_outputs"),
    "mixers": ("MixerRegistry", "plugins.scorers.mixers"),
    "key_selections": ("KeySelectionRegistry", "plugins.scorers.selections"),
    "normalizers": ("NormalizerRegistry", "plugins.scorers.normalizers"),
    "optimizers": ("OptimizerRegistry", "plugins.optimizers"),
    "score_maps": ("ScoreMapRegistry", "plugins.scorers.score_maps"),
    "schedules": ("ScheduleRegistry", "plugins.schedules"),
    "scores": ("AttentionRegistry", "plugins.scorers"),
    "tasks": ("Plugins", "plugins"),
}

def plugin_binary(name, libraries, call, plugins = {}, before = "", **kwargs):
    """A program whose main() registers the plug-ins and evaluates `call`.

    Args:
      name: name of the program.
      libraries: labels of libraries that `call` needs. Each library has a header
        with its name.
      call: C++ expression of the exit code.
      plugins: labels of more plug-ins, by the argument of `regard_binary`.
      before: C++ statements at the start of main().
      **kwargs: passed to cc_binary.
    """
    parts = [
        registration(labels, *_KINDS[kind])
        for kind, labels in plugins.items()
    ]
    generated_source(
        name = name + "_main",
        out = name + "_main.cc",
        text = _MAIN.format(
            label = "//{}:{}".format(native.package_name(), name),
            includes = "".join([
                '#include "{}.h"\n'.format(library[2:].replace(":", "/"))
                for library in libraries
            ]),
            declarations = "".join([part.declarations for part in parts]),
            calls = "".join([part.calls for part in parts]),
            before = before,
            call = call,
        ),
        testonly = kwargs.get("testonly", False),
    )
    plugin_labels = [label for labels in plugins.values() for label in labels]
    link_digest(
        name = name + "_compute_digest",
        out = name + "_compute_digest.cc",
        libraries = [str(Label("//experiments:compute"))] + plugin_labels,
        tags = ["manual"],
        testonly = kwargs.get("testonly", False),
    )
    cc_binary(
        name = name,
        srcs = [
            name + "_compute_digest.cc",
            name + "_main.cc",
        ],
        deps = [
            str(Label("//experiments/tasks:built_in_plugins")),
            str(Label("//experiments/tasks:plugins")),
        ] + [
            str(Label(library))
            for library in libraries
        ] + plugin_labels,
        **kwargs
    )

def _program_link_impl(ctx):
    link = ctx.actions.declare_file(ctx.label.name)
    binary = ctx.attr.binary[DefaultInfo]
    ctx.actions.symlink(
        output = link,
        target_file = ctx.executable.binary,
        is_executable = True,
    )
    return [DefaultInfo(
        executable = link,
        files = depset([link]),
        runfiles = ctx.runfiles(files = [link]).merge(binary.default_runfiles),
    )]

program_link = rule(
    implementation = _program_link_impl,
    doc = """One of the programs in a binary whose main() is RegardMain().

    The binary looks at the name of the link, which must end with the program's:
    `predict`, or `my_train_predict`.""",
    attrs = {
        "binary": attr.label(
            doc = "The binary that has the program.",
            executable = True,
            cfg = "target",
            mandatory = True,
        ),
    },
    executable = True,
)

def regard_binary(
        name,
        scores = [],
        tasks = [],
        optimizers = [],
        schedules = [],
        head_outputs = [],
        score_maps = [],
        mixers = [],
        key_selections = [],
        normalizers = [],
        tools = False,
        mpi = False,
        **kwargs):
    """A program like `//experiments:train` with additional plug-ins.

    NAME_cell trains in the same way but writes no report. It is linked only with
    the computing code. `experiment` and `ablation` use both programs.

    Args:
      name: name of the program.
      scores: labels of `scoring_function` targets. Target `my_score` defines
        MyScore, in any namespace. The same holds for the kinds below.
      tasks: labels of libraries with tasks and data sources, by
        REGARD_PLUGINS(MyTask).
      optimizers: labels of libraries, by REGARD_OPTIMIZER(MyRule, ...).
      schedules: labels of libraries, by REGARD_SCHEDULE(MySchedule, ...).
      head_outputs: labels of `head_output` targets.
      score_maps: labels of `score_map` targets.
      mixers: labels of `state_mixer` targets.
      key_selections: labels of `key_selection` targets.
      normalizers: labels of `normalizer` targets.
      tools: whether to also make NAME_regard, which has all programs of
        `//tools` for the runs of NAME. Links to it are NAME_average,
        NAME_caption, NAME_embed, NAME_evaluate, NAME_generate, NAME_inspect,
        NAME_plan, NAME_predict, NAME_replay, NAME_sweep and NAME_translate.
      mpi: whether the program trains in several processes; see
        docs/several_machines.md. This requires Debian's libopenmpi-dev. The
        target is then tagged manual.
      **kwargs: passed to each cc_binary.
    """
    libraries = [
        "//experiments:default_config",
        "//experiments/training:run_pages",
        "//experiments/training:train_program",
    ]
    call = "regard::TrainMain(argc, argv, plugins, regard::DefaultConfig(), &regard::RunPages()"
    if mpi:
        libraries.append("//optimization/ranks:mpi_ranks")
        call = "ranks.End({}, &ranks))".format(call)
    else:
        call += ")"
    tags = kwargs.pop("tags", [])
    plugins = {
        "head_outputs": head_outputs,
        "mixers": mixers,
        "key_selections": key_selections,
        "normalizers": normalizers,
        "optimizers": optimizers,
        "schedules": schedules,
        "score_maps": score_maps,
        "scores": scores,
        "tasks": tasks,
    }
    plugin_binary(
        name,
        libraries,
        call,
        plugins,
        before = "  regard::MpiRanks ranks(&argc, &argv);\n" if mpi else "",
        tags = tags + (["manual"] if mpi else []),
        **kwargs
    )
    if not mpi:
        plugin_binary(
            name + "_cell",
            ["//experiments/training:train_program"],
            "regard::TrainMain(argc, argv, plugins, /*default_config=*/\"\", /*presenter=*/nullptr)",
            plugins,
            tags = tags + ["manual"],
            **kwargs
        )
        plugin_binary(
            name + "_results",
            ["//experiments/sweep:results_program"],
            "regard::ResultsMain(argc, argv, plugins)",
            plugins,
            tags = tags + ["manual"],
            **kwargs
        )
    if not tools:
        return
    plugin_binary(
        name + "_regard",
        ["//tools:regard_program"],
        "regard::RegardMain(argc, argv, plugins)",
        plugins,
        tags = tags,
        **kwargs
    )
    for tool in ["average", "caption", "embed", "evaluate", "generate", "inspect", "plan", "predict", "replay", "sweep", "translate"]:
        program_link(
            name = name + "_" + tool,
            binary = ":" + name + "_regard",
            tags = tags,
            testonly = kwargs.get("testonly"),
            visibility = kwargs.get("visibility"),
        )
