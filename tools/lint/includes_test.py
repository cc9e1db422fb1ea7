#!/usr/bin/env python3
"""Tests of includes.py."""

import unittest

import includes


def _dep(label, headers=()):
    return {"label": label, "external": label.startswith("@"),
            "headers": list(headers)}


def _findings(text, deps, sources=("nn/gru.cc", "nn/gru.h")):
    target = {"label": "//nn:gru", "sources": list(sources), "deps": deps}
    texts = {"nn/gru.cc": text, "nn/gru.h": ""}
    return list(includes.check_target(target, texts.get))


_TAPE = _dep("//autodiff:tape", ["autodiff/tape.h"])
_STRINGS = _dep("@com_google_absl//absl/strings:strings")


class IncludesTest(unittest.TestCase):

    def test_own_standard_and_declared_headers_are_fine(self):
        self.assertEqual([], _findings(
            '#include "nn/gru.h"\n#include <vector>\n'
            '#include "autodiff/tape.h"\n'
            '#include "absl/strings/string_view.h"\n', [_TAPE, _STRINGS]))

    def test_a_header_of_the_tree_needs_a_direct_dependency(self):
        finding, = _findings('#include "autodiff/tape.h"\n', [])
        self.assertIn("autodiff/tape.h, which none of its direct deps", finding)

    def test_a_header_of_the_system_needs_a_dependency(self):
        finding, = _findings('#include "absl/strings/str_cat.h"\n', [])
        self.assertIn("dependency on //absl/strings:strings", finding)
        finding, = _findings('#include <Eigen/Core>\n', [])
        self.assertIn("dependency on //:eigen", finding)

    def test_the_longest_prefix_decides(self):
        finding, = _findings('#include "absl/strings/str_format.h"\n'
                             '#include "absl/strings/str_cat.h"\n', [_STRINGS])
        self.assertIn("//absl/strings:str_format", finding)

    def test_other_headers_of_abseil_follow_its_custom(self):
        finding, = _findings('#include "absl/types/span.h"\n', [])
        self.assertIn("//absl/types:span", finding)

    def test_a_repository_under_another_name_counts(self):
        self.assertEqual([], _findings(
            '#include "absl/strings/str_cat.h"\n',
            [_dep("@@abseil-cpp~//absl/strings:strings")]))

    def test_a_dependency_that_nothing_uses_is_found(self):
        finding, = _findings("", [_TAPE])
        self.assertIn("nothing is included from the dependency", finding)

    def test_a_test_shares_the_dependencies_of_libraries(self):
        library = {"label": "//nn:gru", "kind": "cc_library", "sources": [],
                   "deps": [_TAPE]}
        test = {"label": "//nn:gru_test", "kind": "cc_test",
                "sources": [__file__], "deps": [_TAPE, _STRINGS]}
        finding, = includes.check({"targets": [library, test]})
        self.assertIn(f"the dependency {_STRINGS['label']}", finding)
        test["kind"] = "cc_binary"
        self.assertEqual(
            2, len(list(includes.check({"targets": [library, test]}))))

    def test_gtest_main_is_linked_only(self):
        self.assertEqual([], _findings(
            "", [_dep("@com_google_googletest//:gtest_main")]))

    def test_generated_sources_hide_what_is_used(self):
        self.assertEqual([], _findings(
            "", [_TAPE], sources=["nn/gru.cc", "nn/generated.cc"]))


if __name__ == "__main__":
    unittest.main()
