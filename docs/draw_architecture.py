#!/usr/bin/env python3
"""Draws architecture.svg: the directories of Regard, in layers.

    docs/draw_architecture.py [--check] LAYERS INDEX PICTURE

LAYERS is tools/lint/layers.py, which has the order of the directories. INDEX is
docs/README.md, which describes each of them. PICTURE is docs/architecture.svg.
With --check, the script writes nothing, and fails if PICTURE is not current.
"""

import html
import pathlib
import re
import runpy
import sys

# Bands of the picture, lowest first, with the first directory of each.
_BANDS = (("Files and configs", "files"), ("Engine", "autodiff"),
          ("Models", "data"), ("Laboratory", "experiments"))
_ROW = 26
_GAP = 16
_LEFT = 150
_WIDTH = 820
_COLORS = ("#eef2f7", "#e3eefb", "#e6f4ea", "#fdf1e0")
_STYLE = ("text { font: 13px 'DejaVu Sans', sans-serif; fill: #1d2129 } "
          ".name { font-weight: 600 } .note { fill: #5f6774 } "
          ".band { font-weight: 600; fill: #5f6774 }")


def descriptions_of(index):
    """Returns the description of each directory in the list of the index."""
    section = index.split("\n## Directories\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^    (\w+)/ +(.+)$", section, re.MULTILINE))


def directories_of(layers):
    """Returns the directories that have a layer, the lowest first."""
    names = runpy.run_path(layers)
    order = names["_LAYERS"] + names["_LEAVES"]
    return [name for name in order if name not in ("third_party", "docs")]


def text(x, y, style, content):
    content = html.escape(content)
    return f'<text x="{x}" y="{y}" class="{style}">{content}</text>'


def draw(directories, descriptions):
    """Returns the picture, with the lowest directory at the bottom."""
    starts = [first for _, first in _BANDS]
    bands = []
    for name in directories:
        if name in starts:
            bands.append([])
        bands[-1].append(name)
    height = _ROW * len(directories) + _GAP * len(bands) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}">',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        text(16, 24, "note", "Each directory uses only directories below it."),
    ]
    y = 40
    for band in reversed(range(len(bands))):
        names = bands[band]
        size = _ROW * len(names)
        lines.append(f'<rect x="8" y="{y}" width="{_WIDTH - 16}" '
                     f'height="{size}" rx="4" fill="{_COLORS[band]}"/>')
        lines.append(text(16, y + 18, "band", _BANDS[band][0]))
        for row, name in enumerate(reversed(names)):
            line = y + row * _ROW + 18
            lines.append(text(_LEFT, line, "name", name))
            lines.append(text(_LEFT + 110, line, "text", descriptions[name]))
        y += size + _GAP
    return "\n".join(lines + ["</svg>"]) + "\n"


def main():
    check = sys.argv[1:2] == ["--check"]
    if len(sys.argv) != 4 + check:
        sys.exit(__doc__)
    layers, index, picture = sys.argv[1 + check:]
    descriptions = descriptions_of(
        pathlib.Path(index).read_text(encoding="utf-8"))
    directories = directories_of(layers)
    missing = [name for name in directories if name not in descriptions]
    if missing:
        sys.exit(f"{index}: the list of directories lacks {', '.join(missing)}")
    drawn = draw(directories, descriptions)
    path = pathlib.Path(picture)
    if not check:
        path.write_text(drawn, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != drawn:
        sys.exit(f"{picture} is not current; run docs/draw_architecture.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
