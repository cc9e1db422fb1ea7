#!/usr/bin/env python3
"""Fails when a BUILD file does not end with add_lint_tests().

Looks at the tree itself, not at declared inputs: a new package is in no list.
"""

import os
import sys

_LAST_LINE = "add_lint_tests()"


def main():
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    with open(os.path.join(root, ".bazelignore"), encoding="utf-8") as file:
        ignored = file.read().split()
    findings = []
    for folder, folders, files in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [
            name for name in folders
            if not name.startswith((".", "bazel-"))
            and (place, name) != (".", "lab")  # tools/ablate writes it
            and os.path.normpath(os.path.join(place, name)) not in ignored
        ]
        if "BUILD" in files:
            path = os.path.join(folder, "BUILD")
            with open(path, encoding="utf-8") as file:
                if file.read().rstrip().split("\n")[-1] != _LAST_LINE:
                    findings.append(os.path.normpath(f"{place}/BUILD"))
    for path in findings:
        print(f"{path}: its last line is not {_LAST_LINE}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
