"""`normalizer()`: what turns scores into weights, and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

def normalizer(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        plain_options = None,
        deps = [],
        visibility = None):
    """A normalizer and `NAME_test`.

    The sources define one normalizer `MyNormalizer` for the name `my_normalizer`, by
    `REGARD_NORMALIZER(MyNormalizer, "its formula")` in any namespace.

    Args:
      name: the normalizer's, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the file of the options' message, which extends
        OutsideNormalizer; makes `NAME_proto` and `NAME_cc_proto`. Otherwise `deps`
        provide the message.
      test_options: options to test the normalizer with, as text protos.
      plain_options: options with which it is softmax on up to 200 scores, in every
        bit, as a text proto. None: no options do.
      deps: what the sources need besides `//attention:normalizer`.
      visibility: of the library and the protos.
    """
    attention_plugin(
        name,
        kind = "normalizer",
        library = "//attention:normalizer",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        test_options = test_options,
        plain_options = plain_options,
        deps = deps,
        visibility = visibility,
    )
