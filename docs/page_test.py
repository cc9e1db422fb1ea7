#!/usr/bin/env python3
"""Runs the commands of a page, and compares their output with the page.

In an indented block of the page, a command follows `$ `, and its further lines
follow `> `. Its output comes after it, without an empty line. `bazel run`
starts a program in the test's data.

    page_test.py PAGE
"""

import difflib
import os
import pathlib
import subprocess
import sys

_BAZEL = """
bazel() {
  local label="${2#//}"
  "${RUNFILES}/${label/://}" "${@:4}"
}
"""


def commands_of(page):
    """Returns pairs of a command and its output lines on the page."""
    commands = []
    open_command = open_output = False
    for line in page.splitlines():
        if line.startswith("    $ "):
            commands.append([line[6:], []])
            open_command = open_output = True
        elif open_command and line.startswith("    > "):
            commands[-1][0] += "\n" + line[6:]
        else:
            open_command = False
            open_output = open_output and line.startswith("    ")
            if open_output:
                commands[-1][1].append(line[4:])
    return commands


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    environment = dict(os.environ, RUNFILES=os.getcwd())
    for variable in ("BUILD_WORKING_DIRECTORY", "BUILD_WORKSPACE_DIRECTORY"):
        environment.pop(variable, None)
    commands = commands_of(page)
    wrong = not commands
    for command, wanted in commands:
        run = subprocess.run(["bash", "-c", _BAZEL + command],
                             cwd=os.environ["TEST_TMPDIR"], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", check=False)
        printed = [line.rstrip() for line in run.stdout.splitlines()]
        if printed != wanted:
            wrong = True
            print(f"$ {command}")
            print("\n".join(difflib.unified_diff(
                wanted, printed, "the page", "printed", lineterm="")))
    print(f"{len(commands)} commands")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
