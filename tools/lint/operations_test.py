#!/usr/bin/env python3
"""Tests of operations.py."""

import contextlib
import os
import pathlib
import tempfile
import unittest

import operations

_HEADER = """
template <typename T>
Var<T> One(Var<T> x);

template <typename T, typename F>
inline PairOutputs<T>
Two(Tape<T>& tape, F fn) {

template <typename T>
Var<T> operator+(Var<T> a, Var<T> b);

template <typename T>
int64_t Rows(Var<T> x);
"""
_SOURCE = 'tape.Record("Part", y, [=] {});'


class OperationsTest(unittest.TestCase):

    def test_what_a_header_declares_is_an_operation(self):
        self.assertEqual({"One", "Two", "operator+"},
                         operations.operations([_HEADER], [_SOURCE]))
        self.assertEqual({"One", "Two", "operator+"}, operations.operations(
            [_HEADER], ["tape->RecordOutputs(\n    name, {y}, [=] {});"]))

    def test_what_only_composes_operations_has_none(self):
        self.assertEqual(set(), operations.operations([_HEADER], ["One(x);"]))

    def test_a_class_has_the_operations_that_it_records(self):
        self.assertEqual({"Part"},
                         operations.operations(["class Rotary;"], [_SOURCE]))

    def test_a_case_of_a_gradient_check_is_needed(self):
        case = 'MakeCase("One", "", {}); CheckGradients(Cases());'
        self.assertEqual(["Two"], operations.unchecked({"One", "Two"}, [case]))
        self.assertEqual(["One"], operations.unchecked(
            {"One"}, ['MakeCase("One", "");', "CheckGradients({});"]))
        self.assertEqual(["One"], operations.unchecked(
            {"One"}, ['EXPECT_DEATH(F(), "One"); CheckGradients({});']))

    def test_a_finding_names_the_library_and_the_operation(self):
        texts = {"pass.h": _SOURCE, "ops.h": _HEADER, "ops.cc": "RunPass();",
                 "ops_test.cc": 'CheckGradients({F("One", 1), F("Two", 2)}); '
                                '// "operator+",'}
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(folder)
            pathlib.Path("ops").mkdir()
            for name, text in texts.items():
                pathlib.Path("ops", name).write_text(text, encoding="utf-8")
            library = {"label": "//ops:ops", "kind": "cc_library",
                       "testonly": False, "sources": ["ops/ops.h", "ops/ops.cc"],
                       "deps": [{"headers": ["ops/pass.h"]}]}
            test = {"kind": "cc_test", "testonly": True,
                    "sources": ["ops/ops_test.cc"]}
            facts = {"package": "ops", "targets": [library, test]}
            self.assertEqual(
                ["//ops:ops: operator+"],
                [finding.split(" records")[0]
                 for finding in operations.check(facts)])
            library["testonly"] = True
            self.assertEqual([], list(operations.check(facts)))


if __name__ == "__main__":
    unittest.main()
