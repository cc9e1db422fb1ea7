#!/usr/bin/env python3
"""Tests of words.py."""

import os
import pathlib
import tempfile
import unittest

import words


def _hits(path, text):
    return [(line, habit) for line, habit, _ in words.hits(path, text)]


class WordsTest(unittest.TestCase):

    def test_a_sentence_that_opens_with_of_is_found(self):
        for text in ("// Of two words, the first.\n", "// One. Of two, none.\n",
                     "int x;  // of a word\n", "/* Of two, one. */\n",
                     "Fail(\"a: Of two, one\");\n"):
            self.assertEqual([(1, "opens_with_of")], _hits("a.cc", text), text)
        for text in ("// The mean of two.\n", "// Offsets of words.\n",
                     "Fail(\"of two\");\n", "Of = 1;\n"):
            self.assertEqual([], _hits("a.cc", text), text)

    def test_a_comment_that_opens_with_what_is_found(self):
        for opening in ("What is read.", "Who wins.", "Where it is."):
            for path, text in (("a.h", f"// {opening}\n"),
                               ("a.proto", f"  // {opening}\n"),
                               ("BUILD", f"# {opening}\n"),
                               ("a.bzl", f'"""{opening}"""\n'),
                               ("a.py", f'"""{opening}"""\n'),
                               ("a.sh", f"# {opening}\n")):
                self.assertEqual([(1, "opens_with_what")], _hits(path, text))
        for text in ("// What is it? A test.\n", "// Whatever it is.\n",
                     "// Says what it is.\n", "Fail(\"What is it\");\n"):
            self.assertEqual([], _hits("a.h", text), text)

    def test_a_pronoun_without_a_noun_is_found(self):
        for text in ("Those of the run.", "It is that of the run.",
                     "Adds to those on disk.", "It is *that of* the run."):
            self.assertEqual([(1, "those_of")], _hits("a.md", text), text)
        for text in ("Its shape and that of the run.",
                     "Bigger than those of x.", "All those who read.",
                     "The ones of the run."):
            self.assertEqual([], _hits("a.md", text), text)

    def test_lines_are_joined(self):
        self.assertEqual([(2, "those_of")], _hits("a.cc", "// It is\n// those\n"
                                                  "// of x.\n"))
        self.assertEqual([(2, "those_of")], _hits(
            "a.cc", 'Fail("it is "\n     "those " "of x");\n'))
        self.assertEqual([], _hits("a.cc", "f();  // is those\n\n// On x\n"))
        self.assertEqual([(2, "those_of")],
                         _hits("a.md", "* It is\n  that of\n"))

    def test_paragraphs_and_comments_after_code_are_apart(self):
        self.assertEqual([(3, "opens_with_of")],
                         _hits("a.cc", "// One, two\n//\n// Of three, one.\n"))
        self.assertEqual([(2, "opens_with_what")],
                         _hits("a.h", "int a;  // b\nint b;  // What it is\n"))

    def test_code_is_not_text(self):
        for path, text in (("a.md", "    Of this\n"),
                           ("a.md", "It is `that of` x"),
                           ("a.md", "```\nOf this\n```\n"),
                           ("a.sh", "echo ${a#Of } x#Of y\n"),
                           ("a.cc", "char c = '\"'; // fine \"Of x\"\n"),
                           ("a.json", "\"Of this\""), ("run", "Of this")):
            self.assertEqual([], _hits(path, text), text)

    def test_files_without_a_suffix_are_known_by_their_first_line(self):
        self.assertEqual("shell", words.kind_of("a/b", "#!/bin/bash\n"))
        self.assertEqual("hash", words.kind_of("a/b", "#!/usr/bin/python3\n"))
        self.assertIsNone(words.kind_of("LICENSE", "Apache\n"))

    def test_raw_strings_are_read(self):
        self.assertEqual([(2, "opens_with_of")],
                         _hits("a.cc", 'R"x(\nOf "two", one)x"; // "\n')[:1])


class ListTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools/lint").mkdir(parents=True)
        (self.root / ".gitignore").write_text("/runs/\n__pycache__/\n")

    def _write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def _renew(self):
        return words.renew(self.root, words.hits_of_tree(self.root))

    def _findings(self):
        text = (self.root / "tools/lint/words.txt").read_text()
        return list(words.findings(words.hits_of_tree(self.root),
                                   words.parse(text)))

    def test_a_renewed_list_agrees_and_is_sorted(self):
        self._write("b.h", "// Of one, two. Of two, one.\n")
        self._write("a.md", "Of one, two.\n")
        self.assertEqual([], self._renew())
        self.assertEqual([], self._findings())
        lines = (self.root / "tools/lint/words.txt").read_text().splitlines()
        self.assertEqual(["a.md opens_with_of 1", "b.h opens_with_of 2"],
                         [line for line in lines if line[0] != "#"])

    def test_more_hits_fail_with_their_lines(self):
        self._write("a.md", "Of one, two.\n")
        self._renew()
        self._write("a.md", "Of one, two.\n\nOf two, one.\n")
        self.assertEqual(
            ["a.md:1", "a.md:3", "a.md: "],
            [finding[:6] for finding in self._findings()])
        self.assertIn("not renewed", self._renew()[-1])

    def test_fewer_hits_ask_for_a_lower_number(self):
        self._write("a.md", "Of one, two.\n")
        self._renew()
        self._write("a.md", "Two.\n")
        self.assertEqual(
            ["tools/lint/words.txt: a.md opens_with_of: lower it from 1 to 0: "
             "tools/lint/words.py --renew"], self._findings())
        self.assertEqual([], self._renew())
        self.assertEqual([], self._findings())

    def test_a_file_that_moved_is_renewed(self):
        self._write("a.md", "Of one, two.\n")
        self._renew()
        os.rename(self.root / "a.md", self.root / "b.md")
        self.assertEqual(3, len(self._findings()))
        self.assertEqual([], self._renew())
        self.assertEqual([], self._findings())

    def test_what_git_ignores_and_links_are_left_out(self):
        self._write("a/b.md", "Of one, two.\n")
        for ignored in ("runs/a.md", "a/__pycache__/a.md", ".git/a.md",
                        "bazel-out/a.md"):
            self._write(ignored, "Of one, two.\n")
        os.symlink("b.md", self.root / "a/c.md")
        self.assertEqual([("a/b.md", "opens_with_of")],
                         list(words.hits_of_tree(self.root)))

    def test_hits_are_counted_by_directory(self):
        self._write("a/b.md", "Of one, two. It is that of x.\n")
        self._write("c.md", "Of one, two.\n")
        rows = [row.split() for row in words.by_directory(
            words.hits_of_tree(self.root))]
        self.assertEqual([[".", "1", "0", "0"], ["a", "1", "0", "1"],
                          ["total", "2", "0", "1"]], rows[1:])


if __name__ == "__main__":
    unittest.main()
