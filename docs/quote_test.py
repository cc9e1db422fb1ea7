#!/usr/bin/env python3
"""Checks that each C++ block of a page is in a source that a test compiles.

    quote_test.py PAGE SOURCE
"""

import pathlib
import re
import sys


def main():
    page, source = (pathlib.Path(path).read_text(encoding="utf-8")
                    for path in sys.argv[1:])
    blocks = re.findall(r"^```c\+\+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    unknown = [block for block in blocks if block not in source]
    for block in unknown:
        print(f"{sys.argv[2]} does not have these lines of {sys.argv[1]}:")
        print(block)
    print(f"{len(blocks)} blocks")
    return 1 if unknown or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
