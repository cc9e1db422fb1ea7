#!/usr/bin/env python3
"""Checks the files of packages: the test that add_lint_tests() declares.

Usage: lint.py DEPS FACTS... Bazel starts it at the root of the sources.
lint_facts.bzl writes FACTS for each package of a top-level directory. DEPS
lists the labels on which these packages depend.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

# Required, because Bazel starts the test under another path.
sys.path.insert(0, "tools/lint")
import includes  # pylint: disable=wrong-import-position
import layers  # pylint: disable=wrong-import-position
import opens  # pylint: disable=wrong-import-position
import operations  # pylint: disable=wrong-import-position

_BUILDIFIER = "tools/lint/bin/buildifier"
_TABLES = "-add_tables=tools/lint/buildifier_tables.json"
_INSTALL = "tools/lint/install"
_FIX = "tools/lint/fix"
_MAX_LINES = 500


def _with_suffix(files, *suffixes):
    return [file for file in files if file.endswith(suffixes)]


def _run(command, advice):
    """Runs a checker. If it fails, yields its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        yield f"{done.stdout.strip()}\n{advice}".strip()


def _has(program, check):
    """Whether a checker is installed. If not, prints that it is skipped."""
    if shutil.which(program):
        return True
    print(f"SKIPPED: {check}: {program} is not installed; contributors run "
          f"{_INSTALL}")
    return False


def check_format(files):
    sources = _with_suffix(files, ".h", ".cc", ".proto")
    if sources and _has("clang-format-14", "layout of C++ files"):
        yield from _run(["clang-format-14", "--dry-run", "-Werror", *sources],
                        f"{_FIX} formats it")


def check_cpplint(files):
    sources = _with_suffix(files, ".h", ".cc")
    if sources and _has("cpplint", "style of C++ files"):
        yield from _run(["cpplint", "--quiet", f"--repository={os.getcwd()}",
                         *sources], "")


def check_build_files(files):
    # Files for other repositories use the built-in rules of Bazel 4.2.3, so
    # they get no lint warnings.
    outside = _with_suffix(files, ".BUILD")
    ours = [file for file in _with_suffix(
        files, "BUILD", ".bzl", "WORKSPACE") if file not in outside]
    if _has(_BUILDIFIER, "layout of BUILD files"):
        for sources, lint in (
            (outside, []),
            # sh_test is also a built-in rule.
            (ours, ["-lint=warn",
                    "-warnings=-native-sh-test,-native-sh-binary"])):
            if sources:
                yield from _run(
                    [_BUILDIFIER, "-mode=check", _TABLES, *lint, *sources],
                    f"{_FIX} formats it")
    for path in outside + _with_suffix(ours, "BUILD"):
        if not pathlib.Path(path).read_text(encoding="utf-8").startswith("# "):
            yield f"{path}: must begin with a comment on the package"


def check_lengths(files):
    for path in _with_suffix(files, ".h", ".cc"):
        lines = pathlib.Path(path).read_text(encoding="utf-8").count("\n")
        if lines > _MAX_LINES:
            yield f"{path}: has {lines} lines, more than {_MAX_LINES}; split it"


def check_owners(facts):
    """Checks that each C++ file belongs to a target."""
    owned = {path for target in facts["targets"] for path in target["sources"]}
    for path in _with_suffix(facts["files"], ".h", ".cc"):
        if path not in owned:
            yield f"{path}: belongs to no target of the package"


def check_output(facts):
    """Checks that libraries print nothing; they return messages instead."""
    for target in facts["targets"]:
        if target["kind"] != "cc_library" or target["testonly"]:
            continue
        for path in target["sources"]:
            file = pathlib.Path(path)
            if file.exists() and "std::cout" in file.read_text(encoding="utf-8"):
                yield f"{path}: uses std::cout in a library; return the text"


def check_package(facts):
    return [
        *check_owners(facts),
        *check_output(facts),
        *includes.check(facts),
        *opens.check(facts),
        *operations.check(facts),
        *layers.check_rooms(facts),
    ]


def main(deps_path, *facts_paths):
    packages = [json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
                for path in facts_paths]
    files = [file for facts in packages for file in facts["files"]]
    findings = [
        *check_format(files),
        *check_cpplint(files),
        *check_build_files(files),
        *check_lengths(files),
        *(finding for facts in packages for finding in check_package(facts)),
    ]
    if any(facts["targets"] for facts in packages):
        labels = pathlib.Path(deps_path).read_text(encoding="utf-8").split("\n")
        findings += layers.check(packages[0]["package"], labels)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
