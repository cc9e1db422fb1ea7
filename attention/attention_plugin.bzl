"""The macro behind head_output.bzl, key_selection.bzl, normalizer.bzl,
score_map.bzl, scoring_function.bzl and state_mixer.bzl."""

load("@com_google_protobuf//bazel:cc_proto_library.bzl", "cc_proto_library")
load("@com_google_protobuf//bazel:proto_library.bzl", "proto_library")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load(
    "//options:plugin_list.bzl",
    "camel_case",
    "generated_source",
    "registration_name",
)

_TEST = """// Generated for {label}.
#include "attention/testing/{kind}_test_body.h"

namespace regard {{

extern "C" void {register}({registry}& registry);

namespace {{

INSTANTIATE_TEST_SUITE_P(
    {camel}, {type}Test,
    ::testing::Combine(::testing::Values({cases}),
                       ::testing::ValuesIn({checks}())),
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
        registry = None,
        checks = None,
        library = None,
        config_proto_deps = None):
    """Defines a plug-in and its generated test, `NAME_test`.

    Args:
      name: the name of the plug-in, in snake case.
      kind: such as `head_output`, the stem of the interface's header and of
        `head_output_test_body.h`.
      srcs: the sources.
      hdrs: the headers.
      config_proto: the proto file with the options' message, or None.
      test_options: options for its tests, as text protos.
      plain_options: options with which the layer is plain attention, or None.
      deps: dependencies of the sources.
      visibility: visibility of the library and the protos.
      registry: the class that it registers with. Default for `head_output`:
        `HeadOutputRegistry`.
      checks: the function that lists its checks. Default for `head_output`:
        `HeadOutputChecks`.
      library: the library of the interface. Default for `head_output`:
        `//attention:head_output` and, with a config_proto, `//autodiff` and `//nn`.
      config_proto_deps: imports of `config_proto` besides config_options.proto.
        Default for `head_output`: `//attention/head_outputs:head_output_proto`.
    """
    if config_proto_deps == None:
        config_proto_deps = [_label("//attention/{0}s:{0}_proto".format(kind))]
    if config_proto:
        proto_library(
            name = name + "_proto",
            srcs = [config_proto],
            visibility = visibility,
            deps = config_proto_deps + [_label("//options:config_options_proto")],
        )
        cc_proto_library(
            name = name + "_cc_proto",
            visibility = visibility,
            deps = [":" + name + "_proto"],
        )
        deps = deps + [":" + name + "_cc_proto"]
        if library == None:
            deps = deps + [_label("//autodiff"), _label("//nn")]
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        visibility = visibility,
        deps = deps + [_label(library or "//attention:" + kind)],
    )
    camel = camel_case(name)
    type = camel_case(kind)
    registry = registry or type + "Registry"
    register = registration_name(name, registry)
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
                "regard::%sCase{&regard::%s, R\"-(%s)-\"%s}" %
                (type, register, options, is_plain)
                for options, is_plain in cases
            ]),
            checks = checks or type + "Checks",
            kind = kind,
            label = "//{}:{}".format(native.package_name(), name),
            register = register,
            registry = registry,
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
