#!/usr/bin/env python3
"""Runs the commands of README.md on small data, and checks the links of all
pages.

Arguments: README.md, configs, and the programs by target as LABEL=FILE. Links
are resolved in the source tree, not in declared inputs.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

# Settings that shorten training from a minute to seconds.
_SMALL = [part for setting in (
    "data.phrasebook.train=300", "data.phrasebook.dev=10",
    "data.phrasebook.test=10", "data.phrasebook.test_unseen_pairs=10",
    "training.epochs=1", "model.encoder.hidden=16", "model.decoder.hidden=32",
) for part in ("--set", setting)]
# Settings for commands with the user's data. The key is a part of the command.
_SMALL_OWN = {
    "mine.tsv": ["training.epochs=1", "model.encoder.hidden=16",
                 "model.decoder.hidden=32"],
    "mine.txt": ["training.epochs=1", "training.examples_per_epoch=24"],
    "mine.csv": ["training.epochs=1"],
}
# .ci/run and tools/try_debian run these two commands unchanged.
_FIRST = ["tools/bazel run //experiments:train", "tools/bazel test //..."]


def commands(text):
    """Returns the lines of the code blocks, without comments."""
    return [line.strip() for line in text.splitlines()
            if line.startswith("    ") and not line.strip().startswith("#")]


def pages(root):
    """Returns the Markdown pages of the tree that Git does not ignore."""
    with open(os.path.join(root, ".gitignore"), encoding="utf-8") as file:
        ignored = [line.strip("/\n") for line in file]
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name for name in folders if not name.startswith(".") and
            os.path.relpath(os.path.join(folder, name), root) not in ignored
        ]
        yield from (os.path.join(folder, name) for name in files
                    if name.endswith(".md"))


def broken_links(path):
    """Returns the links outside of code blocks that lead to no file."""
    with open(path, encoding="utf-8") as file:
        text = "".join(line for line in file if not line.startswith("    "))
    folder = os.path.dirname(path)
    return [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text)
            if "://" not in link
            and not os.path.exists(os.path.join(folder, link))]


def make_data():
    """Writes the data files of the user."""
    words = ["they", "are", "watching", "."]
    with open("mine.tsv", "w", encoding="utf-8") as file:
        for i in range(300):
            file.write(f"{words[i % 3]} {i % 7} .\t{i % 7} {words[i % 2]} .\n")
    with open("mine.txt", "w", encoding="utf-8") as file:
        for i in range(300):
            file.write(f"the {words[i % 3]} sees {words[i % 2]} .\n")
    with open("mine.csv", "w", encoding="utf-8") as file:
        file.write("area,rooms,price\n")
        for i in range(100):
            file.write(f"{i % 10 / 10},{i % 3},{i % 10 + i % 3}\n")


def copy_configs(configs):
    """Copies the configs to where the commands expect them."""
    os.makedirs("configs")
    for config in configs:
        shutil.copyfile(config, f"configs/{os.path.basename(config)}")


def to_run(line, programs):
    """Returns the replacement of a command, or None if it starts nothing."""
    words = shlex.split(line)
    if words[1] != "run":
        return None
    program = programs[words[2]]
    arguments = words[4:]
    own = [small for name, small in _SMALL_OWN.items() if name in line]
    if own:
        arguments += [f"--set={setting}" for setting in own[0]]
    elif words[2] == "//tools:sweep":
        arguments += _SMALL
    elif words[2] == "//experiments:train":
        run = re.sub(r"\W+", "_", "".join(arguments)) or "DIR"
        arguments += _SMALL + [f"--run=runs/{run}"]
    return [program] + arguments


def main():
    readme = os.path.abspath(sys.argv[1])
    configs = [os.path.abspath(path) for path in sys.argv[2:]
               if "=" not in path]
    programs = {label: os.path.abspath(path) for label, path in
                (pair.split("=") for pair in sys.argv[2:] if "=" in pair)}
    root = os.path.dirname(os.path.realpath(readme))
    failures = [f"{page}: no {link}" for page in sorted(pages(root))
                for link in broken_links(page)]
    with open(readme, encoding="utf-8") as file:
        lines = commands(file.read())
    if lines[:2] != _FIRST:
        failures.append(f"README.md begins with {lines[:2]}, not {_FIRST}")

    os.chdir(os.environ["TEST_TMPDIR"])
    copy_configs(configs)
    make_data()
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
