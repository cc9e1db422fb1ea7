"""`regard_binary`: programs with scores of one's own."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")

_MAIN = """// Generated for {label}.
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
{includes}
namespace regard {{
{declarations}
}}  // namespace regard

int main(int argc, char** argv) {{
  regard::ScorerRegistry scorers;
  regard::RegisterBuiltInScores(scorers);
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

def _register_function(score):
    words = _target_name(score).split("_")
    return "Register" + "".join([word.capitalize() for word in words])

def _program(name, scores, libraries, call, kwargs):
    """A program whose main() makes the registry of scores and calls `call`."""
    functions = [_register_function(score) for score in scores]
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
                "extern \"C\" void {}(ScorerRegistry& scorers);\n".format(function)
                for function in functions
            ]),
            calls = "".join([
                "  regard::{}(scorers);\n".format(function)
                for function in functions
            ]),
            call = call,
        ),
        testonly = kwargs.get("testonly", False),
    )
    cc_binary(
        name = name,
        srcs = [name + "_main.cc"],
        deps = [
            str(Label("//attention:scorer_registry")),
            str(Label("//attention/scoring:built_in_scores")),
        ] + [str(Label(library)) for library in libraries] + scores,
        **kwargs
    )

def regard_binary(name, scores = [], tools = False, **kwargs):
    """A program like `//experiments:train` that also knows `scores`.

    Args:
      name: of the program.
      scores: labels of `scoring_function` targets. Target `my_score` provides
        `RegisterMyScore(ScorerRegistry&)`, whatever its namespace.
      tools: whether to make NAME_translate and NAME_inspect, too: `//tools`'
        programs for runs of this one.
      **kwargs: passed to each cc_binary.
    """
    _program(
        name,
        scores,
        ["//experiments:default_config", "//experiments:train_program"],
        "regard::TrainMain(argc, argv, scorers, regard::DefaultConfig())",
        kwargs,
    )
    if not tools:
        return
    for tool in ["translate", "inspect"]:
        _program(
            name + "_" + tool,
            scores,
            ["//tools:{}_program".format(tool)],
            "regard::{}Main(argc, argv, scorers)".format(tool.capitalize()),
            kwargs,
        )
