#!/usr/bin/env python3
"""Tests of layers.py."""

import unittest

import layers


def _facts(package, *deps, kind="cc_library", testonly=False):
    return {"package": package, "targets": [
        {"label": f"//{package}:a", "kind": kind, "testonly": testonly,
         "deps": [{"label": dep} for dep in deps]}]}


class LayersTest(unittest.TestCase):

    def test_own_lower_and_external_layers_are_allowed(self):
        self.assertEqual([], list(layers.check("nn/gru", [
            "//nn:linear", "//autodiff:tape", "//third_party/x:check",
            "@eigen//:eigen", "",
        ])))

    def test_everybody_may_use_files(self):
        self.assertEqual([], list(layers.check("autodiff", ["//files:file"])))
        self.assertEqual(1, len(
            list(layers.check("files", ["//autodiff:shape"]))))

    def test_a_higher_layer_is_refused(self):
        self.assertEqual(
            ["autodiff: depends on //nn:linear, which is not below autodiff"],
            list(layers.check("autodiff", ["//autodiff:a", "//nn:linear"])))

    def test_language_is_between_seq2seq_and_experiments(self):
        self.assertEqual([], list(layers.check("language", [
            "//seq2seq:decoder", "//language:generator"])))
        self.assertEqual(2, len(
            list(layers.check("seq2seq", ["//language:generator"])) +
            list(layers.check("language", ["//experiments:train"]))))

    def test_nobody_below_depends_on_tools_or_on_the_root(self):
        self.assertEqual(2, len(list(layers.check(
            "experiments", ["//tools/plan:plan", "//:version"]))))

    def test_a_new_top_folder_needs_a_layer(self):
        self.assertIn("no layer is named util",
                      list(layers.check("util", []))[0])

    def test_a_room_may_use_its_own_room_and_those_before_it(self):
        self.assertEqual([], list(layers.check_rooms(_facts(
            "attention/scoring", "//attention:mask", "//attention/kernels:dot",
            "//autodiff:var", "@eigen//:eigen"))))
        self.assertEqual(
            ["//attention/kernels:a: depends on //attention/scoring:dot, "
             "which is not below kernels in attention"],
            list(layers.check_rooms(_facts(
                "attention/kernels", "//attention/scoring:dot"))))

    def test_a_room_within_a_room_needs_a_place(self):
        self.assertEqual(
            1, len(list(layers.check_rooms(_facts("attention/heads")))))

    def test_what_tests_use_and_what_a_room_lists_is_free(self):
        up = "//attention/scoring:dot"
        for facts in (_facts("attention/kernels", up, kind="cc_test"),
                      _facts("attention/kernels", up, testonly=True),
                      _facts("attention/testing", up),
                      _facts("attention", up)):
            self.assertEqual([], list(layers.check_rooms(facts)))


if __name__ == "__main__":
    unittest.main()
