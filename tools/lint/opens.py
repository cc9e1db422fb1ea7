"""Checks that only files/ opens files, so that tests can inject failures."""

import pathlib
import re

_KINDS = ("cc_library", "cc_binary")
_OPEN = re.compile(
    r"\b[io]?fstream\b|\bf(re)?open\s*\(|\btmpfile\s*\(|\bmko?stemps?\s*\("
    r"|\bopendir\s*\(|\bcreat\s*\(|(?<![\w.>:])(::)?open(at)?\s*\(")


def check_text(path, text):
    for number, line in enumerate(text.split("\n"), start=1):
        found = _OPEN.search(line.split("//")[0])
        if found:
            yield (f"{path}:{number}: {found.group().strip()} opens a file; use "
                   "files/file.h, whose failures tests can simulate")


def check(facts):
    if facts["package"] == "files":
        return
    for target in facts["targets"]:
        if target["kind"] not in _KINDS or target["testonly"]:
            continue
        for path in target["sources"]:
            file = pathlib.Path(path)
            if file.exists():
                yield from check_text(path, file.read_text(encoding="utf-8"))
