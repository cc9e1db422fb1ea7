#!/usr/bin/env python3
"""Tests that a missing linter is reported as skipped, not as a failure."""

import contextlib
import io
import os
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/lint")
import lint  # pylint: disable=wrong-import-position


class LintSkipTest(unittest.TestCase):
    """Runs the checks with a PATH of stubs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        before = os.environ["PATH"]
        self.addCleanup(lambda: os.environ.update(PATH=before))
        os.environ["PATH"] = folder.name

    def stub(self, program, body):
        path = self.bin / program
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_check(self, check):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            findings = list(check(["tape.cc"]))
        return findings, out.getvalue()

    def test_a_missing_program_is_a_skip(self):
        for check, program in ((lint.check_format, "clang-format-14"),
                               (lint.check_cpplint, "cpplint")):
            findings, out = self.run_check(check)
            self.assertEqual(findings, [])
            self.assertRegex(out, f"^SKIPPED: .*{program} is not installed")

    def test_a_program_that_is_there_is_asked(self):
        for check, program in ((lint.check_format, "clang-format-14"),
                               (lint.check_cpplint, "cpplint")):
            self.stub(program, "echo 'tape.cc is wrong'; exit 1")
            findings, out = self.run_check(check)
            self.assertIn("tape.cc is wrong", findings[0])
            self.assertEqual(out, "")
            self.stub(program, "exit 0")
            self.assertEqual(self.run_check(check), ([], ""))


if __name__ == "__main__":
    unittest.main()
