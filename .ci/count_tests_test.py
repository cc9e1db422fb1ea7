#!/usr/bin/env python3
"""Tests the counting on event files in Bazel's format."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, ".ci")
import count_tests  # pylint: disable=wrong-import-position


def configured(label):
    """Returns the event of a test that Bazel has found."""
    return {"id": {"targetConfigured": {"label": label}},
            "configured": {"targetKind": "cc_test rule", "testSize": "SMALL"}}


def summary(label, status, log=None):
    """Returns the event of a finished test, which has written `log`."""
    passed = [{"uri": log.as_uri()}] if log else []
    return {"id": {"testSummary": {"label": label}},
            "testSummary": {"overallStatus": status, "passed": passed}}


class CountTestsTest(unittest.TestCase):
    """Each case is a folder of event files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, *events):
        """Writes an event file, one JSON object per line."""
        (self.folder / name).write_text(
            "".join(json.dumps(event) + "\n" for event in events),
            encoding="utf-8")

    def count(self, broken="0"):
        """Returns the exit code and the printed lines."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = count_tests.main(broken, self.folder)
        return code, out.getvalue().splitlines()

    def test_all_event_files_count(self):
        for name in ("a.json", "b.json"):
            self.write(name, configured("//x:t"), summary("//x:t", "PASSED"))
        self.assertEqual(self.count(), (0, ["2 passed, 0 failed"]))

    def test_what_passed_in_a_second_attempt_passed(self):
        self.write("a.json", configured("//x:t"), summary("//x:t", "FLAKY"))
        self.assertEqual(self.count(), (0, ["1 passed, 0 failed"]))

    def test_a_failure_is_named(self):
        self.write("a.json", configured("//x:t"), configured("//x:u"),
                   summary("//x:t", "PASSED"), summary("//x:u", "TIMEOUT"))
        self.assertEqual(self.count("1"), (
            1, ["//x:u: TIMEOUT", "1 passed, 1 failed"]))

    def test_a_test_without_summary_could_not_be_built(self):
        self.write("a.json", configured("//x:t"), configured("//x:u"),
                   {"id": {"targetCompleted": {"label": "//x:u"}},
                    "completed": {}},
                   summary("//x:t", "PASSED"))
        self.assertEqual(self.count("1"), (
            1, ["//x:u: FAILED_TO_BUILD", "1 passed, 1 failed"]))

    def test_a_test_that_is_not_for_the_build_is_a_skip(self):
        self.write("a.json", configured("//x:t"), configured("//x:u"),
                   {"id": {"targetCompleted": {"label": "//x:u"}},
                    "aborted": {"reason": "SKIPPED"}},
                   summary("//x:t", "PASSED"))
        self.assertEqual(self.count(), (
            0, ["SKIPPED: //x:u is not for this build", "1 passed, 0 failed"]))

    def test_what_is_no_test_does_not_count(self):
        self.write("a.json",
                   {"id": {"targetConfigured": {"label": "//x:library"}},
                    "configured": {"targetKind": "cc_library rule"}},
                   configured("//x:t"), summary("//x:t", "PASSED"))
        self.assertEqual(self.count(), (0, ["1 passed, 0 failed"]))

    def test_skips_inside_a_passing_test_are_listed(self):
        log = self.folder / "test.log"
        log.write_text("[  SKIPPED ] Disk.IsFull (0 ms)\n"
                       "[  SKIPPED ] 1 test, listed below:\n"
                       "SKIPPED: no cpplint\n", encoding="utf-8")
        for name in ("a.json", "b.json"):
            self.write(name, configured("//x:t"),
                       summary("//x:t", "PASSED", log))
        self.assertEqual(self.count(), (0, [
            "[  SKIPPED ] Disk.IsFull (0 ms) (2 times)",
            "SKIPPED: no cpplint (2 times)", "2 passed, 0 failed"]))

    def test_a_command_that_failed_is_a_failure(self):
        self.write("a.json", configured("//x:t"), summary("//x:t", "PASSED"))
        self.assertEqual(self.count("1"), (1, ["1 passed, 1 failed"]))

    def test_an_event_file_that_is_cut_off_is_a_failure(self):
        self.write("a.json", configured("//x:t"), summary("//x:t", "PASSED"))
        with open(self.folder / "a.json", "a", encoding="utf-8") as file:
            file.write('{"id": {"testSum')
        self.assertEqual(self.count("1"), (
            1, ["the rest of a.json: CUT_OFF", "1 passed, 1 failed"]))

    def test_no_test_at_all_is_no_success(self):
        self.write("a.json")
        self.assertEqual(self.count(), (1, ["0 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
