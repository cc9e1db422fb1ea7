#!/usr/bin/env python3
"""Tests of layers.py."""

import unittest

import layers


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


if __name__ == "__main__":
    unittest.main()
