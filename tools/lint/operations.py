"""Checks that a gradient check names each operation of a package.

An operation is a function template in the header of a library. The library
records gradients, or uses such a library of its own package. The function
returns a Var<T>, or a structure of Vars. For a library without such functions,
the operations are the names that it records.
"""

import pathlib
import re

_DECLARATION = re.compile(
    r"^template <typename T.*>\n"
    r"(?:inline )?(?:Var|\w+Outputs|\w+And\w+)<T>\s(\w+|operator.)\(",
    re.MULTILINE)
_RECORD = re.compile(r"[.>]Record(?:Outputs)?\(\s*(?:\"(\w+)\")?")

_CHECKED_ELSEWHERE = (
    "Intervention",  # only adds or replaces values
    "LogKernelScores",  # checked as the score "kernel"
    "Probe",  # the identity, in nn/forward.cc
    "Project",  # belongs to the gradient checker
    "RunSequence",  # checked as GruSequence and LstmSequence
    "TopK",  # checked as the score map "top_k"
)


def operations(headers, sources):
    """Returns the operations of a library, from the texts of its files."""
    if not any(_RECORD.search(text) for text in headers + sources):
        return set()
    declared = {name for text in headers for name in _DECLARATION.findall(text)}
    recorded = {name for text in headers + sources
                for name in _RECORD.findall(text) if name}
    return (declared or recorded) - set(_CHECKED_ELSEWHERE)


def unchecked(names, tests):
    """Returns the names that are not an argument of any gradient check."""
    checks = "".join(text for text in tests if "CheckGradients(" in text)
    return sorted(name for name in names if f'"{name}",' not in checks)


def _texts(paths, suffix=""):
    """Returns the texts of the files without comments."""
    files = [pathlib.Path(path) for path in paths if path.endswith(suffix)]
    return [re.sub("//.*", "", file.read_text(encoding="utf-8"))
            for file in files if file.exists()]


def check(facts):
    tests = [text for target in facts["targets"] if target["kind"] == "cc_test"
             for text in _texts(target["sources"])]
    for target in facts["targets"]:
        if target["kind"] != "cc_library" or target["testonly"]:
            continue
        used = [header for dep in target["deps"] for header in dep["headers"]
                if str(pathlib.Path(header).parent) == facts["package"]]
        names = operations(
            _texts(target["sources"], ".h"),
            _texts(target["sources"], ".cc") + _texts(used))
        for name in unchecked(names, tests):
            yield (f"{target['label']}: {name} records gradients, but no test "
                   "of the package has a gradient case for it; see "
                   "autodiff/testing/gradient_check.h")
