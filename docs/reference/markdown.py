"""Turns comments and tables into Markdown."""

import re


def paragraphs(comment):
    """Returns the paragraphs of a comment, one line each. Indented lines are
    code and stay unchanged."""
    parts = []
    for part in re.split(r"\n\s*\n", comment.strip("\n")):
        if part.startswith("  "):
            parts.append("\n".join("    " + line.removeprefix("  ")
                                   for line in part.split("\n")))
        elif part.strip():
            parts.append(escaped(" ".join(part.split())))
    return parts


def escaped(text):
    """Escapes characters that Markdown interprets outside of code spans."""
    pieces = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(pieces), 2):
        piece = re.sub(r"(?<![\w-])(--[a-z_]+(?:=[A-Z]+)?)", r"`\1`", pieces[i])
        halves = re.split(r"(`[^`]*`)", piece)
        for j in range(0, len(halves), 2):
            halves[j] = re.sub(r"([*<])", r"\\\1", halves[j])
            halves[j] = re.sub(r"(?<![\w/])docs/([a-z_]+\.md)", r"[\1](../\1)",
                               halves[j])
        pieces[i] = "".join(halves)
    return "".join(pieces)


def table(heads, rows):
    """Returns the lines of a table, or an empty list without rows."""
    if not rows:
        return []
    cells = [" | ".join(cell.replace("|", "\\|") for cell in row)
             for row in [heads] + rows]
    return ([f"| {cells[0]} |", "|" + " --- |" * len(heads)] +
            [f"| {line} |" for line in cells[1:]] + [""])


def code(text):
    return f"`{text}`" if text else ""
