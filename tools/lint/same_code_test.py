#!/usr/bin/env python3
"""Tests of same_code.py."""

import unittest

import same_code


def _same(path, old, new):
    return same_code.code_of(path, old) == same_code.code_of(path, new)


class SameCodeTest(unittest.TestCase):

    def test_comments_and_layout_are_not_code(self):
        for path, old, new in (
                ("a.cc", "int a;  // one\n", "// Two.\nint  a;\n"),
                ("a.cc", "f(/* x */ 1);\n", "f(\n    1);\n"),
                ("a.proto", "// A.\nmessage M {}\n", "message M {}\n"),
                ("BUILD", "# A.\nx(\n    name = 'a',  # B.\n)\n",
                 "x(\n    name = 'a',\n)\n"),
                ("a.bzl", 'def f():\n    """A."""\n    return 1\n',
                 'def f():\n    """B.\n\n    C."""\n    return 1\n'),
                ("a.py", '"""A."""\nX = 1  # B\n', '"""C."""\nX = 1\n'),
                ("a.sh", "#!/bin/bash\n# A.\nls  # B.\n", "#!/bin/bash\nls\n"),
                (".bazelrc", "# A.\nbuild -c opt\n", "build -c opt\n"),
                ("a.textproto", "# A.\nx: 1\n", "x: 1  # B.\n")):
            self.assertTrue(_same(path, old, new), (path, old))

    def test_code_and_strings_are_compared(self):
        for path, old, new in (
                ("a.cc", "int a;\n", "int b;\n"),
                ("a.cc", 'f("// a");\n', 'f("// b");\n'),
                ("a.cc", "x = '\"'; // a\ny = 1;\n", "x = '\"'; // a\n"),
                ("a.cc", 'R"(// a)";\n', 'R"(// b)";\n'),
                ("a.h", "#include \"a.h\"\n", "#include \"b.h\"\n"),
                ("a.proto", "int32 a = 1;\n", "int32 a = 2;\n"),
                ("a.py", "x = '# a'\n", "x = '# b'\n"),
                ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n"),
                ("a.bzl", "f(x = '''a''')\n", "f(x = '''b''')\n"),
                ("a.sh", "echo '# a'\n", "echo '# b'\n"),
                ("a.sh", "echo a#b\n", "echo a\n"),
                ("a.textproto", 'x: "# a"\n', 'x: "# b"\n')):
            self.assertFalse(_same(path, old, new), (path, old))

    def test_pages_are_not_code(self):
        self.assertIsNone(same_code.code_of("a.md", "text"))


if __name__ == "__main__":
    unittest.main()
