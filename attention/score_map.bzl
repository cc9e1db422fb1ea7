"""`score_map()` defines a map of scores or weights, and its tests."""

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
    """Defines a score map and its generated test, `NAME_test`.

    For the name `my_map`, the sources must register one map `MyMap` with
    `REGARD_SCORE_MAP(MyMap, "its formula")`, in any namespace.

    Args:
      name: the name of the map, in snake case.
      srcs: the sources.
      hdrs: the headers, if any.
      config_proto: the proto file with the options' message, which extends
        OutsideScoreMap. Creates `NAME_proto` and `NAME_cc_proto`. If absent, `deps` must
        provide the message.
      test_options: options for its tests, as text protos.
      plain_options: a text proto of options with which the map does not change
        scores, up to rounding. None if there are no such options.
      deps: dependencies of the sources, besides `//attention:score_map` and, with a
        config_proto, `//autodiff` and `//nn`.
      visibility: visibility of the library and the protos.
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
