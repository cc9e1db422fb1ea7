"""`key_selection()` defines a key selection and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

def key_selection(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        plain_options = None,
        deps = [],
        visibility = None):
    """Defines a key selection and its generated test, `NAME_test`.

    For the name `my_selection`, the sources must register one selection
    `MySelection` with `REGARD_KEY_SELECTION(MySelection, "the keys it selects")`,
    in any namespace.

    Args:
      name: the name of the selection, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message, which extends
        OutsideKeySelection. Creates `NAME_proto` and `NAME_cc_proto`. If absent, `deps` must
        provide the message.
      test_options: options for its tests, as text protos. The tests have up to 300
        keys.
      plain_options: a text proto of options with which all of up to 300 keys are
        selected, so that the layer is plain attention. None if there are no such
        options.
      deps: dependencies of the sources, besides `//attention:key_selection` and, with
        a config_proto, `//autodiff` and `//nn`.
      visibility: visibility of the library and the protos.
    """
    attention_plugin(
        name,
        kind = "key_selection",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        config_proto_deps = [str(Label("//attention/selections:selection_proto"))],
        test_options = test_options,
        plain_options = plain_options,
        deps = deps,
        visibility = visibility,
    )
