"""Libraries, tests and protos whose file names follow from their names."""

load("@com_google_protobuf//bazel:cc_proto_library.bzl", "cc_proto_library")
load("@com_google_protobuf//bazel:proto_library.bzl", "proto_library")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")

_GTEST_MAIN = "@com_google_googletest//:gtest_main"

def cc_pair(
        name,
        srcs = None,
        hdrs = None,
        deps = [],
        test_deps = None,
        **kwargs):
    """A `cc_library` and, if `test_deps` is given, the unit test `NAME_test`.

    The test has the dependencies of the library, too.

    Args:
      name: name of the library.
      srcs: `NAME.cc` by default, if that file exists.
      hdrs: `NAME.h` by default, if that file exists.
      deps: dependencies of the library.
      test_deps: dependencies of `NAME_test.cc` besides GoogleTest, the library and
        `deps`. None if the library has no test of its own.
      **kwargs: passed to the test without the prefix if they begin with `test_`,
        or else to the library.
    """
    cc_library(
        name = name,
        srcs = native.glob([name + ".cc"]) if srcs == None else srcs,
        hdrs = native.glob([name + ".h"]) if hdrs == None else hdrs,
        deps = deps,
        **{
            key: value
            for key, value in kwargs.items()
            if not key.startswith("test_")
        }
    )
    if test_deps != None:
        unit_test(
            name = name + "_test",
            deps = [":" + name] + deps + test_deps,
            **{
                key[len("test_"):]: value
                for key, value in kwargs.items()
                if key.startswith("test_")
            }
        )

def unit_test(name, srcs = None, size = "small", deps = [], **kwargs):
    """A `cc_test` with GoogleTest's main program.

    Args:
      name: name of the test.
      srcs: `NAME.cc` by default.
      size: as in `cc_test`.
      deps: dependencies besides GoogleTest.
      **kwargs: passed to `cc_test`.
    """
    cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        deps = deps + [_GTEST_MAIN],
        **kwargs
    )

def directory_test(name, deps = [], **kwargs):
    """One unit test of all `*_test.cc` that no test above it contains.

    The test also has the libraries above it and their dependencies. Exceptions are
    libraries that have no files or are `manual` or `alwayslink`.

    Args:
      name: name of the test: the name of the directory with `_test`.
      deps: additional dependencies.
      **kwargs: passed to `cc_test`.
    """
    taken = {}
    shared = {}
    for rule in native.existing_rules().values():
        if rule["kind"] == "cc_test":
            taken.update({label.lstrip(":"): True for label in rule["srcs"]})
        elif (rule["kind"] == "cc_library" and (rule["srcs"] or rule["hdrs"]) and
              "manual" not in rule["tags"] and not rule["alwayslink"]):
            shared.update({label: True for label in rule["deps"]})
            shared[":" + rule["name"]] = True
    unit_test(
        name = name,
        srcs = native.glob(["*_test.cc"], exclude = list(taken)),
        deps = list(shared) + deps,
        **kwargs
    )

def proto_pair(name, srcs = None, deps = [], **kwargs):
    """A `proto_library` named `STEM_proto` and its C++ code, `STEM_cc_proto`.

    Args:
      name: name of the library, `STEM_proto`.
      srcs: `STEM.proto` by default.
      deps: proto libraries that `srcs` import.
      **kwargs: passed to both rules.
    """
    stem = name[:-len("_proto")]
    proto_library(
        name = name,
        srcs = srcs or [stem + ".proto"],
        deps = deps,
        **kwargs
    )
    cc_proto_library(
        name = stem + "_cc_proto",
        deps = [":" + name],
        **kwargs
    )
