"""`state_mixer()`: a state mixer and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

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
      deps: what the sources need besides `//attention:state_mixer` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: of the library and the protos.
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
