#!/usr/bin/env python3
"""Writes the wheel of Regard, and prints its path.

    make_wheel.py PACKAGE MODULE FOLDER

PACKAGE is a folder of tools/package, which contains the program for some
instruction-set levels. The wheel in FOLDER contains this program as the command
`regard`, the configs, the licences and the Python MODULE. The same inputs give
the same bytes.

The program is linked statically, so it needs Linux on x86-64, but no C library
of the system. Therefore, the tags name old versions of both C libraries that
pip supports.
"""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

_TAGS = ("py3-none-manylinux_2_17_x86_64", "py3-none-musllinux_1_1_x86_64")

_METADATA = """Metadata-Version: 2.1
Name: regard
Version: {version}
Summary: A laboratory for attention: trains, compares and explains models
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3 :: Only
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas ; extra == 'pandas'
Description-Content-Type: text/markdown

{description}"""

_WHEEL = """Wheel-Version: 1.0
Generator: regard {version}
Root-Is-Purelib: false
{tags}"""


def file_tag():
    """Returns the tags as they appear in the name of a wheel."""
    platforms = ".".join(tag.split("-")[2] for tag in _TAGS)
    return f"py3-none-{platforms}"


def version_of(changelog):
    """Returns the latest release in a text like CHANGELOG.md."""
    found = re.search(r"^## ([0-9][0-9.]*) - ", changelog, re.MULTILINE)
    if found is None:
        sys.exit("make_wheel.py: error: CHANGELOG.md lists no release; add a "
                 "line like `## 1.2.0 - 2027-01-31`")
    return found[1]


def contents_of(package, module, version):
    """Returns pairs of a path in the wheel and its bytes, without RECORD."""
    data = f"regard-{version}.data/data"
    info = f"regard-{version}.dist-info"

    def below(folder, pattern, target):
        for path in sorted((package / folder).glob(pattern)):
            if path.is_file():
                name = path.relative_to(package / folder).as_posix()
                yield f"{target}/{name}", path.read_bytes()

    yield "regard.py", module.read_bytes()
    yield (f"regard-{version}.data/scripts/regard",
           (package / "regard").read_bytes())
    yield from below("lib", "**/*", f"{data}/lib/regard")
    yield from below("configs", "**/*.textproto",
                     f"{data}/share/regard/configs")
    yield f"{info}/licenses/LICENSE", (package / "LICENSE").read_bytes()
    yield from below("licenses", "*", f"{info}/licenses")
    description = (package / "docs/python.md").read_text(encoding="utf-8")
    yield f"{info}/METADATA", _METADATA.format(
        version=version, description=description).encode()
    yield f"{info}/WHEEL", _WHEEL.format(
        version=version,
        tags="".join(f"Tag: {tag}\n" for tag in _TAGS)).encode()


def write_wheel(package, module, folder):
    """Writes the wheel of a package. Returns its path."""
    version = version_of((package / "CHANGELOG.md").read_text(encoding="utf-8"))
    wheel = folder / f"regard-{version}-{file_tag()}.whl"
    record_name = f"regard-{version}.dist-info/RECORD"
    record = []
    new = wheel.with_name(wheel.name + ".new")
    with zipfile.ZipFile(new, "w") as archive:

        def add(name, content):
            entry = zipfile.ZipInfo(name)  # the timestamp is in 1980
            is_program = "/scripts/" in name or "/data/lib/" in name
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)

        for name, content in contents_of(package, module, version):
            add(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
            record.append(f"{name},sha256={digest.decode().rstrip('=')},"
                          f"{len(content)}\n")
        add(record_name, "".join(record) + f"{record_name},,\n")
    new.replace(wheel)
    return wheel


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(write_wheel(*map(pathlib.Path, sys.argv[1:])))


if __name__ == "__main__":
    main()
