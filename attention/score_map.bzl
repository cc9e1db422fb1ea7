"""`score_map()`: a map of scores or weights, and its tests."""

load("//attention:attention_plugin.bzl", "attention_plugin")

def score_map(
        name,
        srcs,
        hdrs = [],
        config_proto = None,
        test_options = [""],
        plain_options = None,
        deps = [],
        visibility = None):
    """A score map and `NAME_test`.

    The sources define one map `MyMap` for the name `my_map`, by
    `REGARD_SCORE_MAP(MyMap, "its formula")` in any namespace.

    Args:
      name: the map's, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the file of the options' message, which extends
        OutsideScoreMap; makes `NAME_proto` and `NAME_cc_proto`. Otherwise `deps`
        provide the message.
      test_options: options to test the map with, as text protos.
      plain_options: options with which the map leaves scores as they are, up to
        rounding, as a text proto. None: no options do.
      deps: what the sources need besides `//attention:score_map` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: of the library and the protos.
    """
    attention_plugin(
        name,
        kind = "score_map",
        srcs = srcs,
        hdrs = hdrs,
        config_proto = config_proto,
        test_options = test_options,
        plain_options = plain_options,
        deps = deps,
        visibility = visibility,
    )
