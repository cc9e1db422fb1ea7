#!/usr/bin/env python3
"""Makes wheels of a fake package, and reads them as pip does.

    make_wheel_test.py SCRIPT MODULE CHANGELOG
"""

import base64
import csv
import email
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import unittest
import zipfile

_SCRIPT, _MODULE, _CHANGELOG = map(os.path.abspath, sys.argv[1:4])
_SCRATCH = pathlib.Path(os.environ["TEST_TMPDIR"])

_FILES = {
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n## 1.20.0 - 2026-01-31\n\n"
                    "## 1.9.0 - 2025-12-31\n",
    "LICENSE": "the licence\n",
    "regard": "#!/bin/sh\n",
    "lib/instruction_set": "#!/bin/sh\n",
    "lib/x86-64-v3/regard": "a program\n",
    "configs/a.textproto": "seed: 1\n",
    "configs/ablations/b.textproto": "seed: 2\n",
    "configs/BUILD": "",
    "licenses/zlib1g-dev": "another licence\n",
    "docs/python.md": "# Python\n\ncafé\n",
}


def make(name, files):
    """Makes a package of `files`. Returns the process that packs it."""
    package, folder = _SCRATCH / name, _SCRATCH / f"{name}_out"
    for path, text in files.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    folder.mkdir()
    return subprocess.run([sys.executable, _SCRIPT, package, _MODULE, folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)


class MakeWheelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.wheel = pathlib.Path(make("package", _FILES).stdout.strip())
        cls.archive = zipfile.ZipFile(cls.wheel)

    def info(self, name):
        return self.archive.read(
            f"regard-1.20.0.dist-info/{name}").decode("utf-8")

    def test_name_has_the_latest_release_and_the_tags(self):
        name, version, *tags = self.wheel.stem.split("-")
        self.assertEqual([name, version], ["regard", "1.20.0"])
        python, abi, platforms = tags
        self.assertEqual(
            sorted(email.message_from_string(self.info("WHEEL"))
                   .get_all("Tag")),
            sorted(f"{python}-{abi}-{platform}"
                   for platform in platforms.split(".")))

    def test_version_is_of_the_same_release_as_the_program_says(self):
        changelog = pathlib.Path(_CHANGELOG).read_text(encoding="utf-8")
        wheel = make("real", dict(_FILES, **{"CHANGELOG.md": changelog}))
        version = re.search(r"^## (\d\S*) - ", changelog, re.MULTILINE)[1]
        self.assertTrue(pathlib.Path(wheel.stdout).name.startswith(
            f"regard-{version}-py3-"), wheel)

    def test_record_lists_every_file_with_its_digest_and_size(self):
        names = self.archive.namelist()
        rows = list(csv.reader(self.info("RECORD").splitlines()))
        self.assertEqual([row[0] for row in rows], names)
        self.assertEqual(rows[-1],
                         ["regard-1.20.0.dist-info/RECORD", "", ""])
        for name, digest, size in rows[:-1]:
            content = self.archive.read(name)
            self.assertEqual(int(size), len(content), name)
            kind, _, value = digest.partition("=")
            self.assertEqual(kind, "sha256")
            self.assertEqual(base64.urlsafe_b64decode(value + "="),
                             hashlib.sha256(content).digest(), name)

    def test_files_are_where_the_launcher_and_users_look(self):
        modes = {entry.filename: entry.external_attr >> 16
                 for entry in self.archive.infolist()}
        data = "regard-1.20.0.data"
        for name in (f"{data}/scripts/regard",
                     f"{data}/data/lib/regard/instruction_set",
                     f"{data}/data/lib/regard/x86-64-v3/regard"):
            self.assertEqual(modes[name], 0o100755, name)
        for name in ("regard.py",
                     f"{data}/data/share/regard/configs/a.textproto",
                     f"{data}/data/share/regard/configs/ablations/b.textproto",
                     "regard-1.20.0.dist-info/licenses/LICENSE",
                     "regard-1.20.0.dist-info/licenses/zlib1g-dev"):
            self.assertEqual(modes[name], 0o100644, name)
        self.assertFalse([name for name in modes if name.endswith("BUILD")])
        self.assertEqual(self.archive.read("regard.py"),
                         pathlib.Path(_MODULE).read_bytes())

    def test_metadata_requires_numpy_and_has_the_page(self):
        metadata = email.message_from_string(self.info("METADATA"))
        self.assertEqual(metadata["Version"], "1.20.0")
        self.assertEqual(metadata.get_all("Requires-Dist"),
                         ["numpy", "pandas ; extra == 'pandas'"])
        self.assertEqual(metadata.get_payload(), "# Python\n\ncafé\n")

    def test_same_inputs_give_the_same_bytes(self):
        again = pathlib.Path(make("again", _FILES).stdout.strip())
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())
        self.assertEqual({entry.date_time[:3]
                          for entry in self.archive.infolist()}, {(1980, 1, 1)})

    def test_changelog_without_a_release_is_an_error(self):
        failed = make("unreleased",
                      dict(_FILES, **{"CHANGELOG.md": "## Unreleased\n"}))
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("CHANGELOG.md lists no release", failed.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
