#!/usr/bin/env python3
"""Fails if a BUILD file is not linted.

The file must end with add_lint_tests(), and packages.bzl must list its package.
Reads the source tree itself, because a new package is not a declared input.
"""

import ast
import os
import sys

_LAST_LINE = "add_lint_tests()"
_LIST = "tools/lint/packages.bzl"


def _listed(root):
    """Returns the packages of packages.bzl, below top-level directories."""
    with open(os.path.join(root, _LIST), encoding="utf-8") as file:
        assignment = ast.parse(file.read()).body[-1]
    return {f"{top}/{below}"
            for top, packages in ast.literal_eval(assignment.value).items()
            for below in packages}


def main():
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    with open(os.path.join(root, ".bazelignore"), encoding="utf-8") as file:
        ignored = file.read().split()
    findings = []
    listed = _listed(root)
    for folder, folders, files in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [
            name for name in folders
            if not name.startswith((".", "bazel-"))
            and os.path.normpath(os.path.join(place, name)) not in ignored
        ]
        if "BUILD" in files:
            path = os.path.join(folder, "BUILD")
            with open(path, encoding="utf-8") as file:
                if file.read().rstrip().split("\n")[-1] != _LAST_LINE:
                    findings.append(os.path.normpath(f"{place}/BUILD") +
                                    f": its last line is not {_LAST_LINE}")
            if "/" in place and place not in listed:
                findings.append(f"{_LIST}: does not list {place}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
