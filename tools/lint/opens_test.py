#!/usr/bin/env python3
"""Tests of opens.py."""

import unittest

import opens


def _lines(text):
    return [finding.split(":")[1] for finding in opens.check_text("a.cc", text)]


class OpensTest(unittest.TestCase):

    def test_every_way_to_open_a_file_is_found(self):
        for code in ("#include <fstream>", "std::ifstream file(path);",
                     "std::ofstream(path) << 1;", "std::fstream f;",
                     "FILE* f = fopen(path, \"r\");", "std::fopen(p, \"r\")",
                     "freopen(p, \"w\", stdout);", "std::tmpfile()",
                     "int d = open(path.c_str(), O_RDONLY);", "::open(p, 0)",
                     "openat(d, p, 0)", "opendir(p)", "creat(p, 0)",
                     "mkstemp(name)", "mkostemp(name, 0)"):
            self.assertEqual(["2"], _lines(f"int a;\n{code}\n"), code)

    def test_what_opens_no_file_is_fine(self):
        for code in ("RandomAccessFile::Open(path)", "files.Open(path, flags)",
                     "fdopen(descriptor, \"w+\")", "run.open()", "is_open()",
                     "posix_spawn_file_actions_addopen(&a, 0, p, 0, 0);",
                     "// open(path) is elsewhere", "std::ostringstream text;"):
            self.assertEqual([], _lines(code), code)

    def test_only_what_is_shipped_is_checked(self):
        target = {"kind": "cc_library", "testonly": False,
                  "sources": ["tools/lint/opens_test.py"]}
        facts = {"package": "nn", "targets": [target]}
        self.assertNotEqual([], list(opens.check(facts)))
        self.assertEqual([], list(opens.check({**facts, "package": "files"})))
        target["testonly"] = True
        self.assertEqual([], list(opens.check(facts)))
        target.update(testonly=False, kind="cc_test")
        self.assertEqual([], list(opens.check(facts)))


if __name__ == "__main__":
    unittest.main()
