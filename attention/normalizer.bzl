"""`normalizer()` defines a normalizer and its tests."""

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
    """Defines a normalizer and its generated test, `NAME_test`.

    For the name `my_normalizer`, the sources must register one normalizer
    `MyNormalizer` with `REGARD_NORMALIZER(MyNormalizer, "its formula")`, in any
    namespace.

    Args:
      name: the name of the normalizer, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message, which extends
        OutsideNormalizer. Creates `NAME_proto` and `NAME_cc_proto`. If absent, `deps` must
        provide the message.
      test_options: options for its tests, as text protos.
      plain_options: a text proto of options that make it bit-identical to softmax on
        up to 200 scores. None if there are no such options.
      deps: dependencies of the sources, besides `//attention:normalizer`.
      visibility: visibility of the library and the protos.
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
