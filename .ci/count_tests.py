"""Counts the tests in Bazel's build event files: "N passed, N failed".

Usage: count_tests.py BROKEN FOLDER

Targets count, cached ones too. BROKEN is 1 when a Bazel command failed: that is
a failure even if no test is to blame. What a passing test skipped is listed.
"""

import json
import pathlib
import sys
import urllib.parse

_PASSED = ("PASSED", "FLAKY")
# How GoogleTest and the lint tests announce a skip.
_SKIP_MARKS = ("[  SKIPPED ]", "SKIPPED:")


def skips(summary):
    """The lines of a passed test's logs that announce a skip."""
    for log in summary.get("passed", []):
        uri = urllib.parse.urlparse(log.get("uri", ""))
        path = pathlib.Path(urllib.parse.unquote(uri.path))
        if uri.scheme == "file" and path.is_file():
            for line in path.read_text(errors="replace").splitlines():
                if line.startswith(_SKIP_MARKS):
                    yield line


def main(broken, folder):
    passed, failed = 0, []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if "testSummary" not in event:
                continue
            label = event["id"]["testSummary"]["label"]
            status = event["testSummary"].get("overallStatus", "NO_STATUS")
            if status in _PASSED:
                passed += 1
            else:
                failed.append(f"{label} {status}")
            for skip in skips(event["testSummary"]):
                print(f"in {label}: {skip}")
    for line in failed:
        print(f"failed: {line}")
    failures = max(len(failed), int(broken))
    print(f"{passed} passed, {failures} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
