"""`head_output()`: a head output of multi-head attention, and its tests."""

load("@com_google_protobuf//bazel:cc_proto_library.bzl", "cc_proto_library")
load("@com_google_protobuf//bazel:proto_library.bzl", "proto_library")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//options:plugin_list.bzl", "camel_case", "generated_source")

_TEST = """// Generated for {label}.
#include "attention/testing/head_output_test_body.h"

namespace regard {{

extern "C" void Register{camel}(HeadOutputRegistry& head_outputs);

namespace {{

INSTANTIATE_TEST_SUITE_P(
    {camel}, HeadOutputTest,
    ::testing::Combine(::testing::Values({cases}),
                       ::testing::ValuesIn(HeadOutputChecks())),
    &HeadOutputTest::Name);

}}  // namespace
}}  // namespace regard
"""

def _label(label):
    return str(Label(label))

def head_output(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        plain_options = None,
        deps = [],
        visibility = None):
    """A head output and `NAME_test`.

    The sources define one head output `MyOutput` for the name `my_output`, by
    `REGARD_HEAD_OUTPUT(MyOutput, "its formula")` in any namespace.

    Args:
      name: the head output's, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the file of the options' message, which extends
        OutsideHeadOutput; makes `NAME_proto` and `NAME_cc_proto`. Otherwise
        `deps` provide the message.
      test_options: options to test the head output with, as text protos.
      plain_options: options with which the layer is plain attention, as a text
        proto: the output is then the context of each head, or of the first of
        the heads that are joined. The test compares all bits, on contexts
        below 1e-9. None if there are no such options.
      deps: what the sources need besides `//attention:head_output`, `//autodiff`
        and `//nn`.
      visibility: of the library and the protos.
    """
    if config_proto:
        proto_library(
            name = name + "_proto",
            srcs = [config_proto],
            visibility = visibility,
            deps = [
                _label("//attention/head_outputs:head_output_proto"),
                _label("//options:config_options_proto"),
            ],
        )
        cc_proto_library(
            name = name + "_cc_proto",
            visibility = visibility,
            deps = [":" + name + "_proto"],
        )
        deps = deps + [
            ":" + name + "_cc_proto",
            _label("//autodiff"),
            _label("//nn"),
        ]
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        visibility = visibility,
        deps = deps + [_label("//attention:head_output")],
    )
    camel = camel_case(name)
    cases = ["{&regard::Register%s, R\"-(%s)-\", false}" % (camel, options) for options in test_options]
    if plain_options != None:
        cases.append("{&regard::Register%s, R\"-(%s)-\", true}" % (camel, plain_options))
    generated_source(
        name = name + "_test_source",
        testonly = True,
        out = name + "_test.cc",
        text = _TEST.format(
            camel = camel,
            cases = ", ".join(["regard::HeadOutputCase" + case for case in cases]),
            label = "//{}:{}".format(native.package_name(), name),
        ),
    )
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.cc"],
        deps = [
            ":" + name,
            _label("//attention/testing:head_output_test_body"),
            "@com_google_googletest//:gtest_main",
        ],
    )
