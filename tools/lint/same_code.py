#!/usr/bin/env python3
"""Shows whether two commits differ in comments and pages only.

    tools/lint/same_code.py OLD [NEW]     NEW is the working tree by default

Strips the comments of every file that differs, and compares the tokens that
remain. Docstrings of Python and Starlark are comments; Markdown is not code.
Prints the files whose code differs, and exits with 1 if there are any.
"""

import io
import os
import re
import subprocess
import sys
import tokenize

_SLASH = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])*'
  | [A-Za-z_0-9.]+
  | \S
""", re.VERBOSE | re.DOTALL)
_HASH = re.compile(r"""
    (?P<comment>\#[^\n]*)
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])*'
  | [^\s"'\#]+
""", re.VERBOSE)
_SLASH_ENDINGS = (".h", ".cc", ".cpp", ".c", ".proto", ".js", ".css", ".jspb")
_PYTHON_ENDINGS = (".py", ".bzl", "BUILD", ".BUILD", "WORKSPACE")
_LAYOUT = (tokenize.COMMENT, tokenize.NL)


def _matched(pattern, text):
    return [match[0].rstrip() for match in pattern.finditer(text)
            if not match["comment"]]


def _lines(text):
    """Returns the lines of shell and plain files without comments. Quotes may
    span lines, so a comment after code only counts without quotes before it."""
    lines = []
    for line in text.split("\n"):
        code = re.match(r"[^#\"'`]*?(?=\s+# |\s*$)|", line)[0]
        line = code if line[len(code):].lstrip().startswith("# ") else line
        if not re.match(r"\s*(#(?!!)|$)", line):
            lines.append(line.rstrip())
    return lines


def _python(text):
    """Returns the tokens except comments, and strings that are statements."""
    tokens = []
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        if token.type == tokenize.STRING and begins:
            continue
        begins = token.type in (tokenize.NEWLINE, tokenize.INDENT,
                                tokenize.DEDENT)
        if token.type == tokenize.NEWLINE and tokens[-1:] in ([], ["\n"]):
            continue
        tokens.append("\n" if begins and not token.string.strip()
                      else token.string)
    return tokens


def code_of(path, text):
    """Returns the tokens of a file's code, or None if it is not code."""
    name = os.path.basename(path)
    if name.endswith(".md"):
        return None
    if name.endswith(_SLASH_ENDINGS):
        return _matched(_SLASH, text)
    if name.endswith(_PYTHON_ENDINGS):
        return _python(text)
    if name.endswith(".textproto"):
        return _matched(_HASH, text)
    first = text.partition("\n")[0]
    if first.startswith("#!") and "python" in first:
        return _python(text)
    return _lines(text)


def _git(*arguments):
    return subprocess.run(("git",) + arguments, check=True,
                          stdout=subprocess.PIPE).stdout


def _text(commit, path):
    if commit:
        content = _git("show", f"{commit}:{path}")
    else:
        with open(path, "rb") as file:
            content = file.read()
    return content.decode("utf-8", "surrogateescape")


def main():
    """Compares the two commits of the command line."""
    old, new = (sys.argv[1:] + [""])[:2]
    os.chdir(_git("rev-parse", "--show-toplevel").decode().strip())
    listing = _git("diff", "--no-renames", "--name-status", "-z", old,
                   *([new] if new else [])).decode().split("\0")
    different = 0
    same = 0
    for status, path in zip(listing[::2], listing[1::2]):
        if path.endswith(".md") or path == "tools/lint/words.txt":
            continue
        if status != "M":
            print(f"{path}: {'added' if status == 'A' else 'removed'}")
            different += 1
        elif (code_of(path, _text(old, path)) !=
              code_of(path, _text(new, path))):
            print(f"{path}: its code differs")
            different += 1
        else:
            same += 1
    print(f"{same} files differ in comments only, {different} in code")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
