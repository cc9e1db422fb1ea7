"""`key_selection()`: a choice of the keys that each query sees, and its tests."""

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
    """A key selection and `NAME_test`.

    The sources define one selection `MySelection` for the name `my_selection`, by
    `REGARD_KEY_SELECTION(MySelection, "the keys it selects")` in any namespace.

    Args:
      name: the selection's, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the file of the options' message, which extends
        OutsideKeySelection; makes `NAME_proto` and `NAME_cc_proto`. Otherwise `deps`
        provide the message.
      test_options: options to test the selection with, as text protos. The tests have
        up to 300 keys.
      plain_options: options with which up to 300 keys are all selected, so that the
        layer is plain attention, as a text proto. None: no options do.
      deps: what the sources need besides `//attention:key_selection` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: of the library and the protos.
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
