#!/usr/bin/env python3
"""Writes the pages of the reference, or compares them with the tree.

    reference.py --descriptors=SET --regard=PROGRAM --plugins=FILE
        --headers=LIST --config=CONFIG [--renew]

`bazel run //docs/reference:renew` writes the pages. The test
//docs/reference:reference_test fails if a page differs.
"""

import argparse
import difflib
import os
import re
import sys

import commands_page
import config_page
import descriptors
import headers_page
import mechanisms_page
import metrics_page

_HERE = os.path.join("docs", "reference")  # in the runfiles


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _notes(name):
    """Returns the hand-written paragraphs of a page, by heading."""
    parts = re.split(r"^## (.*)\n", _read(os.path.join(_HERE, "notes", name)),
                     flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in
            zip(parts[1::2], parts[2::2])}


def _pages(arguments):
    with open(arguments.descriptors, "rb") as file:
        protos = descriptors.Descriptors(file.read())
    config = config_page.ConfigPage(protos)
    return {
        "config.md": config.text(_notes("config.txt")),
        "mechanisms.md": mechanisms_page.text(
            protos, arguments.regard, os.listdir(_HERE),
            _notes("mechanisms.txt")),
        "commands.md": commands_page.text(
            arguments.regard, _notes("commands.txt")),
        "metrics.md": metrics_page.text(
            protos, _read(arguments.plugins), arguments.regard,
            arguments.config, _notes("metrics.txt")),
        "headers.md": headers_page.text(
            _read(arguments.headers), _notes("headers.txt")),
    }


def main():
    parser = argparse.ArgumentParser()
    for name in ("descriptors", "regard", "plugins", "headers", "config"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--renew", action="store_true")
    arguments = parser.parse_args()
    folder = (os.path.join(os.environ["BUILD_WORKSPACE_DIRECTORY"], "docs",
                           "reference") if arguments.renew else _HERE)
    different = False
    for name, page in _pages(arguments).items():
        path = os.path.join(folder, name)
        old = _read(path) if os.path.exists(path) else ""
        if page == old:
            continue
        if arguments.renew:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
            print(f"docs/reference/{name}: renewed")
            continue
        different = True
        sys.stdout.writelines(difflib.unified_diff(
            old.splitlines(True), page.splitlines(True),
            f"docs/reference/{name}", "as generated"))
    if different:
        print("\nTo renew the pages: bazel run //docs/reference:renew")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
