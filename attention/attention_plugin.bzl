"""A plug-in of attention and its generated tests; see head_output.bzl, score_map.bzl and
state_mixer.bzl."""

load("@com_google_protobuf//bazel:cc_proto_library.bzl", "cc_proto_library")
load("@com_google_protobuf//bazel:proto_library.bzl", "proto_library")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//options:plugin_list.bzl", "camel_case", "generated_source")

_TEST = """// Generated for {label}.
#include "attention/testing/{kind}_test_body.h"

namespace regard {{

extern "C" void Register{camel}({subject}Registry& registry);

namespace {{

INSTANTIATE_TEST_SUITE_P(
    {camel}, {type}Test,
    ::testing::Combine(::testing::Values({cases}),
                       ::testing::ValuesIn({subject}Checks())),
    &{type}Test::Name);

}}  // namespace
}}  // namespace regard
"""

def _label(label):
    return str(Label(label))

def attention_plugin(
        name,
        kind,
        srcs,
        hdrs,
        config_proto,
        test_options,
        plain_options,
        deps,
        visibility,
        subject = None,
        options_proto = None):
    """A plug-in and `NAME_test`.

    Args:
      name: the plug-in's, in snake case.
      kind: such as `head_output`: the stem of the interface's file and of
        `head_output_test_body.h`.
      srcs: the sources.
      hdrs: the headers.
      config_proto: the file of the options' message, or None.
      test_options: options to test the plug-in with, as text protos.
      plain_options: options with which the layer is plain attention, or None.
      deps: of the sources.
      visibility: of the library and the protos.
      subject: the beginning of the names of its registry and its checks. Default:
        the kind, as in `HeadOutputRegistry`.
      options_proto: the proto library that `config_proto` imports. Default: for
        `head_output`, `//attention/head_outputs:head_output_proto`.
    """
    if config_proto:
        proto_library(
            name = name + "_proto",
            srcs = [config_proto],
            visibility = visibility,
            deps = [
                _label(options_proto or
                       "//attention/{0}s:{0}_proto".format(kind)),
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
        deps = deps + [_label("//attention:" + kind)],
    )
    camel = camel_case(name)
    type = camel_case(kind)
    cases = [(options, "") for options in test_options]
    if plain_options != None:
        cases.append((plain_options, ", true"))
    generated_source(
        name = name + "_test_source",
        testonly = True,
        out = name + "_test.cc",
        text = _TEST.format(
            camel = camel,
            cases = ", ".join([
                "regard::%sCase{&regard::Register%s, R\"-(%s)-\"%s}" %
                (type, camel, options, is_plain)
                for options, is_plain in cases
            ]),
            kind = kind,
            label = "//{}:{}".format(native.package_name(), name),
            subject = subject or type,
            type = type,
        ),
    )
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.cc"],
        deps = [
            ":" + name,
            _label("//attention/testing:{}_test_body".format(kind)),
            "@com_google_googletest//:gtest_main",
        ],
    )
