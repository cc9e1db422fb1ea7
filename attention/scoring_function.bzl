"""`scoring_function()` defines an attention score, its tests and its benchmark."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("//attention:attention_plugin.bzl", "attention_plugin")
load("//options:plugin_list.bzl", "generated_source", "registration_name")

_BENCHMARK = """// Generated for {label}.
#include "attention/testing/scoring_function_benchmark_body.h"

namespace regard {{
extern "C" void {register}(AttentionRegistry& scorers);
}}  // namespace regard

int main(int argc, char** argv) {{
  return regard::BenchmarkScoringFunction(
      argc, argv, {{{cases}}});
}}
"""

def _label(label):
    return str(Label(label))

def scoring_function(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        config_proto_deps = None,
        test_options = [""],
        deps = [],
        visibility = None):
    """Defines a scoring function, `NAME_test` and `NAME_benchmark`.

    For the name `my_score`, the sources must register one score `MyScore` with
    `REGARD_SCORING_FUNCTION(MyScore, "its formula")`, in any namespace. The class
    declares what the tests expect, such as whether the score depends on
    positions.

    Args:
      name: the name of the score, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message. Creates `NAME_proto` and
        `NAME_cc_proto`. If absent, `deps` must provide the message.
      config_proto_deps: imports of `config_proto` besides config_options.proto.
        Default: `attention.proto`, whose OutsideScore it extends.
      test_options: options for its tests, as text protos.
      deps: dependencies of the sources, besides `//attention:scoring`.
      visibility: visibility of the library and the protos.
    """
    if config_proto_deps == None:
        config_proto_deps = [_label("//attention:attention_proto")]
    attention_plugin(
        name,
        kind = "scoring_function",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        config_proto_deps = config_proto_deps,
        test_options = test_options,
        plain_options = None,
        deps = deps,
        visibility = visibility,
        registry = "AttentionRegistry",
        checks = "ScoreChecks",
        library = "//attention:scoring",
    )
    register = registration_name(name, "AttentionRegistry")
    generated_source(
        name = name + "_benchmark_source",
        testonly = True,
        out = name + "_benchmark.cc",
        text = _BENCHMARK.format(
            cases = ", ".join([
                "regard::ScoringFunctionCase{&regard::%s, R\"-(%s)-\"}" %
                (register, options)
                for options in test_options
            ]),
            label = "//{}:{}".format(native.package_name(), name),
            register = register,
        ),
    )

    # The benchmark is only built on request, because a program for each score
    # would slow down `//...`.
    cc_binary(
        name = name + "_benchmark",
        testonly = True,
        srcs = [name + "_benchmark.cc"],
        tags = [
            "benchmark",
            "manual",
        ],
        deps = [
            ":" + name,
            _label("//attention/testing:scoring_function_benchmark_body"),
        ],
    )
