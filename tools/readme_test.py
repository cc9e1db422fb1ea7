#!/usr/bin/env python3
"""Runs the commands of README.md on small data, and follows its links.

Arguments: README.md, tools/ablate, a config, and the programs by target,
LABEL=FILE. Links lead through the tree itself, not through declared inputs.
"""

import os
import re
import shlex
import subprocess
import sys

# Seconds instead of a minute.
_SMALL = [part for setting in (
    "data.phrasebook.train=300", "data.phrasebook.dev=10",
    "data.phrasebook.test=10", "data.phrasebook.test_unseen_pairs=10",
    "training.epochs=1", "model.encoder.hidden=16", "model.decoder.hidden=32",
) for part in ("--set", setting)]
# These two are what .ci/run and tools/try_debian start as they are.
_FIRST = ["tools/bazel run //experiments:train", "tools/bazel test //..."]


def commands(text):
    """The lines of the code blocks, but comments."""
    return [line.strip() for line in text.splitlines()
            if line.startswith("    ") and not line.strip().startswith("#")]


def broken_links(path, text):
    """Links of a page that lead to no file."""
    folder = os.path.dirname(os.path.realpath(path))
    return [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text)
            if "://" not in link
            and not os.path.exists(os.path.join(folder, link))]


def make_workspace(ablate, config):
    """A folder in which tools/ablate finds a stand-in for Bazel."""
    os.makedirs("tools")
    os.makedirs("configs")
    for source, to in ((ablate, "tools/ablate"),
                       (config, f"configs/{os.path.basename(config)}")):
        with open(source, encoding="utf-8") as file:
            text = file.read()
        with open(to, "w", encoding="utf-8") as file:
            file.write(text)
    with open("tools/bazel", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod("tools/ablate", 0o755)
    os.chmod("tools/bazel", 0o755)


def to_run(line, programs):
    """What stands in for a command; None if nothing can be started."""
    words = shlex.split(line)
    if words[0] == "tools/ablate":
        return words
    if words[1] != "run":
        return None
    program = programs[words[2]]
    arguments = words[4:]
    if words[2] == "//experiments:train":
        run = re.sub(r"\W+", "_", "".join(arguments)) or "DIR"
        arguments += _SMALL + [f"--run=runs/{run}"]
    return [program] + arguments


def main():
    readme, ablate, config = (os.path.abspath(path) for path in sys.argv[1:4])
    programs = {label: os.path.abspath(path) for label, path in
                (pair.split("=") for pair in sys.argv[4:])}
    pages = [readme, os.path.join(os.path.dirname(os.path.realpath(readme)),
                                  "docs", "README.md")]
    failures = []
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        failures += [f"{page}: no {link}" for link in broken_links(page, text)]
        if page == readme:
            lines = commands(text)
    if lines[:2] != _FIRST:
        failures.append(f"README.md begins with {lines[:2]}, not {_FIRST}")

    os.chdir(os.environ["TEST_TMPDIR"])
    make_workspace(ablate, config)
    os.environ["BUILD_WORKING_DIRECTORY"] = os.getcwd()
    for line in lines:
        command = to_run(line, programs)
        if command is None:
            continue
        print(f"== {line}", flush=True)
        code = subprocess.run(command, stdin=subprocess.DEVNULL,
                              check=False).returncode
        if code != 0:
            failures.append(f"{line}: exit code {code}")
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
