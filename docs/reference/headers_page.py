"""Makes the page about public headers from their first paragraphs."""

import re

import markdown


def _first_paragraph(path):
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("// ") or line.startswith("//  "):
                break  # an empty line, or an example
            lines.append(line.removeprefix("// "))
    return re.sub(":$", ".", "".join(lines).strip())


def text(listed, notes):
    """Returns the page. In `listed`, a target comes before its headers."""
    lines = [notes.pop("Introduction"), ""]
    shown = set()
    for block in re.split(r"\n(?=//)", listed.strip()):
        title, *headers = block.replace("\t", "").split("\n")
        target, purpose = title.split(": ")
        lines += [f"## {target}", "", f"{purpose[0].upper()}{purpose[1:]}.", ""]
        new = [header for header in headers if header not in shown]
        lines += markdown.table(
            ["header", "purpose"],
            [[f"[{header}](../../{header})",
              " ".join(markdown.paragraphs(_first_paragraph(header)))]
             for header in new])
        if old := [f"`{header}`" for header in headers if header in shown]:
            lines += [f"Also {', '.join(old)}.", ""]
        shown.update(headers)
    return "\n".join(lines).rstrip() + "\n"
