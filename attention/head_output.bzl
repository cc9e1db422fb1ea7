"""`head_output()`: a head output of multi-head attention, and its tests."""

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
        below 1e-9. None: no options do.
      deps: what the sources need besides `//attention:head_output` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: of the library and the protos.
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
