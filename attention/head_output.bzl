"""`head_output()` defines a head output of multi-head attention, and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

def head_output(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        plain_options = None,
        deps = [],
        visibility = None):
    """Defines a head output and its generated test, `NAME_test`.

    For the name `my_output`, the sources must register one head output `MyOutput`
    with `REGARD_HEAD_OUTPUT(MyOutput, "its formula")`, in any namespace.

    Args:
      name: the name of the head output, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message, which extends
        OutsideHeadOutput. Creates `NAME_proto` and `NAME_cc_proto`. If absent, `deps` must
        provide the message.
      test_options: options for its tests, as text protos.
      plain_options: a text proto of options with which the layer is plain
        attention: the output is the context of each head, or of the first of the
        joined heads. The test compares all bits, for contexts below 1e-9. None if
        there are no such options.
      deps: dependencies of the sources, besides `//attention:head_output` and, with
        a config_proto, `//autodiff` and `//nn`.
      visibility: visibility of the library and the protos.
    """
    attention_plugin(
        name,
        kind = "head_output",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        test_options = test_options,
        plain_options = plain_options,
        deps = deps,
        visibility = visibility,
    )
