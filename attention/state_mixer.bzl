"""`state_mixer()`: a state mixer and its tests."""

load("@com_google_protobuf//bazel:cc_proto_library.bzl", "cc_proto_library")
load("@com_google_protobuf//bazel:proto_library.bzl", "proto_library")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//options:plugin_list.bzl", "camel_case", "generated_source")

_TEST = """// Generated for {label}.
#include "attention/testing/state_mixer_test_body.h"

namespace regard {{

extern "C" void {register}(MixerRegistry& mixers);

namespace {{

INSTANTIATE_TEST_SUITE_P(
    {camel}, StateMixerTest,
    ::testing::Combine(::testing::Values({cases}),
                       ::testing::ValuesIn(MixerChecks())),
    &StateMixerTest::Name);

}}  // namespace
}}  // namespace regard
"""

def _label(label):
    return str(Label(label))

def state_mixer(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        deps = [],
        visibility = None):
    """A state mixer and `NAME_test`.

    The sources define one mixer `MyMixer` for the name `my_mixer`, by
    `REGARD_STATE_MIXER(MyMixer, "its formula")` in any namespace. The test builds
    it for a layer of width 8.

    Args:
      name: the mixer's, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the file of the options' message, which extends OutsideMixer;
        makes `NAME_proto` and `NAME_cc_proto`. Otherwise `deps` provide the
        message.
      test_options: options to test the mixer with, as text protos.
      deps: what the sources need besides `//attention:state_mixer`.
      visibility: of the library and the protos.
    """
    if config_proto:
        proto_library(
            name = name + "_proto",
            srcs = [config_proto],
            visibility = visibility,
            deps = [
                _label("//attention/mixers:mixer_proto"),
                _label("//options:config_options_proto"),
            ],
        )
        cc_proto_library(
            name = name + "_cc_proto",
            visibility = visibility,
            deps = [":" + name + "_proto"],
        )
        deps = deps + [":" + name + "_cc_proto"]
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        visibility = visibility,
        deps = deps + [_label("//attention:state_mixer")],
    )

    camel = camel_case(name)
    register = "Register" + camel
    generated_source(
        name = name + "_test_source",
        testonly = True,
        out = name + "_test.cc",
        text = _TEST.format(
            camel = camel,
            cases = ", ".join([
                "regard::StateMixerCase{&regard::%s, R\"-(%s)-\"}" %
                (register, options)
                for options in test_options
            ]),
            label = "//{}:{}".format(native.package_name(), name),
            register = register,
        ),
    )
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.cc"],
        deps = [
            ":" + name,
            _label("//attention/testing:state_mixer_test_body"),
            "@com_google_googletest//:gtest_main",
        ],
    )
