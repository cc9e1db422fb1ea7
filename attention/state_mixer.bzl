"""`state_mixer()` defines a state mixer and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

def state_mixer(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        deps = [],
        visibility = None):
    """Defines a state mixer and its generated test, `NAME_test`.

    For the name `my_mixer`, the sources must register one mixer `MyMixer` with
    `REGARD_STATE_MIXER(MyMixer, "its formula")`, in any namespace. The tests use a
    layer of width 8.

    Args:
      name: the name of the mixer, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message, which extends
        OutsideMixer. Creates `NAME_proto` and `NAME_cc_proto`. If absent, `deps` must
        provide the message.
      test_options: options for its tests, as text protos.
      deps: dependencies of the sources, besides `//attention:state_mixer` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: visibility of the library and the protos.
    """
    attention_plugin(
        name,
        kind = "state_mixer",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        test_options = test_options,
        plain_options = None,
        deps = deps,
        visibility = visibility,
        registry = "MixerRegistry",
        checks = "MixerChecks",
        config_proto_deps = [str(Label("//attention/mixers:mixer_proto"))],
    )
