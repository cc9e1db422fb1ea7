"""Makes the page about commands from the --help of each command."""

import re
import subprocess

import markdown

_FLAG = re.compile(r"  (--[a-z_]+(?:[= ][A-Z]\S*)?) {2,}(.*)")


def _help(regard, *command):
    return subprocess.run([regard, *command, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def _flags(block):
    rows = []
    for line in block.split("\n"):
        flag, meaning = _FLAG.fullmatch(line).groups()
        default = ""
        if found := re.fullmatch(r"(.*) \(default: (.*)\)", meaning):
            meaning, default = found.groups()
        rows.append([f"`{flag}`", markdown.escaped(meaning),
                     markdown.escaped(default)])
    return markdown.table(["flag", "meaning", "default"], rows)


def _block(block):
    """Returns the Markdown of a block of a help text, as lines."""
    if all(_FLAG.fullmatch(line) for line in block.split("\n")):
        return _flags(block)
    title, _, rest = block.partition("\n")
    if title == "Examples:":
        return [title, "", *("  " + line for line in rest.split("\n")), ""]
    if block.startswith("  "):
        return [*("  " + line for line in block.split("\n")), ""]
    return [*markdown.paragraphs(block), ""]


def text(regard, notes):
    lines = [notes.pop("Introduction"), ""]
    sections = []
    for block in _help(regard).strip("\n").split("\n\n"):
        programs = re.findall(r"^  ([a-z]+) +(.*)$", block, re.MULTILINE)
        if not block.startswith("  ") or programs[0][0] == "regard":
            title = re.fullmatch(r"([A-Z][a-z ]+):", block)
            if title:
                lines += [f"{title[1]}:", ""]
            continue
        lines += markdown.table(
            ["command", "purpose"],
            [[f"[{name}](#{name})", purpose] for name, purpose in programs])
        for name, _ in programs:
            sections += [f"## {name}", ""]
            for part in _help(regard, name).strip("\n").split("\n\n"):
                sections += _block(part)
            if note := notes.pop(name, ""):
                sections += [note, ""]
    if notes:
        raise ValueError(f"notes/commands.txt: no command {list(notes)}")
    return "\n".join(lines + sections).rstrip() + "\n"
