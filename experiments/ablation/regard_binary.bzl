"""`regard_binary`: programs with plug-ins of one's own."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")

_MAIN = """// Generated for {label}.
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/plugins.h"
{includes}
namespace regard {{
{declarations}
}}  // namespace regard

int main(int argc, char** argv) {{
  regard::Plugins plugins = regard::BuiltInPlugins();
{calls}  return {call};
}}
"""

def _main_impl(ctx):
    ctx.actions.write(ctx.outputs.out, ctx.attr.text)

_main = rule(
    implementation = _main_impl,
    attrs = {
        "out": attr.output(mandatory = True),
        "text": attr.string(mandatory = True),
    },
)

def _target_name(label):
    label = str(label)
    if ":" in label:
        return label.rpartition(":")[2]
    return label.rpartition("/")[2]

def _register_function(target):
    words = _target_name(target).split("_")
    return "Register" + "".join([word.capitalize() for word in words])

def plugin_binary(name, libraries, call, scores = [], tasks = [], **kwargs):
    """A program whose main() makes the plug-ins and calls `call`.

    Args:
      name: of the program.
      libraries: labels of libraries whose headers, named like them, `call`
        needs.
      call: the C++ expression of the exit code.
      scores: as for `regard_binary`.
      tasks: as for `regard_binary`.
      **kwargs: passed to cc_binary.
    """
    functions = [
        (_register_function(score), "ScorerRegistry& scorers", "plugins.scorers")
        for score in scores
    ] + [
        (_register_function(task), "Plugins& plugins", "plugins")
        for task in tasks
    ]
    _main(
        name = name + "_main",
        out = name + "_main.cc",
        text = _MAIN.format(
            label = "//{}:{}".format(native.package_name(), name),
            includes = "".join([
                '#include "{}.h"\n'.format(library[2:].replace(":", "/"))
                for library in libraries
            ]),
            declarations = "".join([
                "extern \"C\" void {}({});\n".format(function, parameter)
                for function, parameter, _ in functions
            ]),
            calls = "".join([
                "  regard::{}({});\n".format(function, argument)
                for function, _, argument in functions
            ]),
            call = call,
        ),
        testonly = kwargs.get("testonly", False),
    )
    cc_binary(
        name = name,
        srcs = [name + "_main.cc"],
        deps = [
            str(Label("//experiments/tasks:built_in_plugins")),
            str(Label("//experiments/tasks:plugins")),
        ] + [str(Label(library)) for library in libraries] + scores + tasks,
        **kwargs
    )

def regard_binary(name, scores = [], tasks = [], tools = False, **kwargs):
    """A program like `//experiments:train` that knows more plug-ins.

    Args:
      name: of the program.
      scores: labels of `scoring_function` targets. Target `my_score` provides
        `RegisterMyScore(ScorerRegistry&)`, whatever its namespace.
      tasks: labels of libraries with tasks and data sources. Target `my_task`
        provides `RegisterMyTask(Plugins&)`, by REGARD_PLUGINS(MyTask).
      tools: whether to make NAME_average, NAME_generate, NAME_inspect, NAME_plan and
        NAME_translate, too: `//tools`' programs for runs of this one.
      **kwargs: passed to each cc_binary.
    """
    plugin_binary(
        name,
        ["//experiments:default_config", "//experiments/training:train_program"],
        "regard::TrainMain(argc, argv, plugins, regard::DefaultConfig())",
        scores,
        tasks,
        **kwargs
    )
    if not tools:
        return
    for tool in ["average", "generate", "inspect", "plan", "translate"]:
        plugin_binary(
            name + "_" + tool,
            ["//tools:programs"],
            "regard::{}Main(argc, argv, plugins)".format(tool.capitalize()),
            scores,
            tasks,
            **kwargs
        )
