"""Counts the tests in Bazel's build event files: "N passed, N failed".

Usage: count_tests.py BROKEN FOLDER

Counts targets, including cached ones. BROKEN is 1 if a Bazel command failed,
which counts as a failure even if no test failed. Lists the checks that passing
tests have skipped, and the tests that do not apply to the build, such as
training runs under sanitizers.
"""

import collections
import json
import pathlib
import re
import sys
import urllib.parse

_PASSED = ("PASSED", "FLAKY")
# Matches a skipped case of GoogleTest, which prints one line for each case, or
# a skipped check of the lint tests.
_SKIP = re.compile(r"\[  SKIPPED \] .* ms\)$|SKIPPED: ")


def skips(summary):
    """Yields the lines in a passed test's logs that announce a skip."""
    for log in summary.get("passed", []):
        uri = urllib.parse.urlparse(log.get("uri", ""))
        path = pathlib.Path(urllib.parse.unquote(uri.path))
        if uri.scheme == "file" and path.is_file():
            for line in path.read_text(errors="replace").splitlines():
                if _SKIP.match(line):
                    yield line


def outcomes(path):
    """Maps each test of one event file to its summary.

    A test that could not be built is announced, but has no summary.
    """
    found = {}
    for line in path.read_text(errors="replace").splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:  # Bazel was killed, or the disk is full
            found[f"the rest of {path.name}"] = {"overallStatus": "CUT_OFF"}
            break
        if event.get("configured", {}).get("testSize"):
            label = event["id"]["targetConfigured"]["label"]
            found.setdefault(label, {"overallStatus": "FAILED_TO_BUILD"})
        elif event.get("aborted", {}).get("reason") == "SKIPPED":
            label = event["id"].get("targetCompleted", {}).get("label")
            if label in found:
                found[label] = {"overallStatus": "SKIPPED"}
        elif "testSummary" in event:
            found[event["id"]["testSummary"]["label"]] = event["testSummary"]
    return found


def main(broken, folder):
    passed, failed = 0, 0
    skipped = collections.Counter()
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for label, summary in outcomes(path).items():
            status = summary.get("overallStatus", "NO_STATUS")
            if status in _PASSED:
                passed += 1
            elif status == "SKIPPED":
                skipped[f"SKIPPED: {label} is not for this build"] += 1
            else:
                failed += 1
                print(f"{label}: {status}")
            skipped.update(skips(summary))
    for skip, count in skipped.items():
        print(skip if count == 1 else f"{skip} ({count} times)")
    failed = max(failed, int(broken))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
