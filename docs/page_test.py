#!/usr/bin/env python3
"""Runs the commands of a page, and compares their output with the page.

In an indented block of the page, a command follows `$ `, and its further lines
follow `> `. Its output comes after it, without an empty line. In the output,
`...` stands for any text within a line. On a line of its own, it stands for any
number of lines. `bazel run` starts a program in the test's data.

    page_test.py PAGE [TOLERANCE]

With TOLERANCE, a number with a decimal point may differ from the number on the
page by this fraction, and columns may have other widths.
"""

import difflib
import os
import pathlib
import re
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


def is_printed(wanted, printed, tolerance):
    """Returns whether the printed lines agree with the lines of the page."""
    pattern = ""
    numbers = []
    for line in wanted:
        if line == "...":
            pattern += r"(?:.*\n)*?"
            continue
        # Parts with an odd index are the separators.
        for i, part in enumerate(re.split(r"(\.\.\.|\d+\.\d+)", line)):
            if part == "...":
                pattern += ".*"
            elif i % 2 == 1 and tolerance:
                pattern += r"(\d+(?:\.\d+)?)"
                numbers.append(float(part))
            else:
                text = re.escape(part)
                pattern += re.sub(r"(\\ )+", " +", text) if tolerance else text
        pattern += "\n"
    match = re.fullmatch(pattern, "".join(line + "\n" for line in printed))
    return match is not None and all(
        abs(float(number) - expected) <= tolerance * expected
        for number, expected in zip(match.groups(), numbers))


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    scratch = os.environ["TEST_TMPDIR"]
    if os.path.isdir("configs"):
        os.symlink(os.path.abspath("configs"),
                   os.path.join(scratch, "configs"))
    environment = dict(os.environ, RUNFILES=os.getcwd())
    for variable in ("BUILD_WORKING_DIRECTORY", "BUILD_WORKSPACE_DIRECTORY"):
        environment.pop(variable, None)
    commands = commands_of(page)
    wrong = not commands
    for command, wanted in commands:
        run = subprocess.run(["bash", "-c", _BAZEL + command],
                             cwd=scratch, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding="utf-8", check=False)
        printed = [line.rstrip() for line in run.stdout.splitlines()]
        if not is_printed(wanted, printed, tolerance):
            wrong = True
            print(f"$ {command}")
            print("\n".join(difflib.unified_diff(
                wanted, printed, "the page", "printed", lineterm="")))
    print(f"{len(commands)} commands")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
