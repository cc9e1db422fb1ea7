#!/usr/bin/env python3
"""Finds three habits of wording that readers stumble over, in the whole tree.

    tools/lint/words.py                   check the tree, as the lint test does
    tools/lint/words.py --renew           write the list of offenders again
    tools/lint/words.py --by_directory    count the hits by directory

opens_with_of: a sentence begins with `Of`, or a comment with `of`.
opens_with_what: a comment begins with `What`, `Who` or `Where`. A question may
  begin with these words.
those_of: `those of`, `that of` or `those on` without a noun. After `and`,
  `or`, `nor` or `than`, these words refer to a noun of the sentence. They are
  then allowed.

The check reads the comments and the string literals of C++, protos, textprotos,
BUILD files, shell and Python. It also reads the text of Markdown pages without
their code.

words.txt lists the number of hits of each file. The list may only shrink. A
file with more hits fails. A file with fewer hits fails until --renew lowers its
number. --renew refuses to increase the total of a habit.
"""

import collections
import os
import re
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
_LIST = "tools/lint/words.txt"
# This test contains wrong examples on purpose.
_EXEMPT = "tools/lint/words_test.py"
_HEADER = """\
# Hits of tools/lint/words.py: file, habit, count. The counts may only shrink.
# Run tools/lint/words.py --renew after rewording a sentence.
# The shell tests and image_classifier.cc have messages of programs. words.py has
# examples of the habits.
"""

_ADVICE = {
    "opens_with_of": "begin the sentence with its subject",
    "opens_with_what": "begin the comment with a noun or a verb",
    "those_of": "name the noun",
}
_SENTENCE = r"(?:^\s*|[.!?:;][\"')\]*_]*\s+|\|\s*)[\"'(\[*_]*"
_OF = re.compile(_SENTENCE + r"(Of)\s")
_COMMENT_OF = re.compile(r"^\s*(of)\s")
_WHAT = re.compile(r"^\s*[\"'(]*((?:What|Who|Where)\b)(?![^.]*\?)")
_THOSE = re.compile(r"\b((?:those|that)\s+of|those\s+on)\b", re.IGNORECASE)
_NOUN_REPEATED = re.compile(r"\b(?:and|or|nor|than)\s+$", re.IGNORECASE)

_SLASH_TOKEN = re.compile(r"""
    //(?P<comment>[^\n]*)
  | /\*(?P<block>.*?)\*/
  | R"(?P<tag>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=tag)"
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | '(?:\\.|[^'\\\n])'
""", re.VERBOSE | re.DOTALL)
_HASH_TOKEN = re.compile(r'''
    \#(?P<comment>[^\n]*)
  | """(?P<block>.*?)"""
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | '(?P<single>(?:\\.|[^'\\\n])*)'
''', re.VERBOSE | re.DOTALL)
# In shell scripts, quotes may be nested, and texts may be unquoted. Only quotes
# within a line are read.
_SHELL_TOKEN = re.compile(r"""
    (?:(?<=\s)|^)\#(?P<comment>[^\n]*)
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | '(?P<single>[^'\n]*)'
""", re.VERBOSE | re.MULTILINE)
_TOKENS = {
    "slash": _SLASH_TOKEN,
    "hash": _HASH_TOKEN,
    "shell": _SHELL_TOKEN,
}
_KINDS = {
    ".h": "slash", ".cc": "slash", ".proto": "slash", ".bzl": "hash",
    ".BUILD": "hash", ".py": "hash", ".textproto": "hash", ".sh": "shell",
    ".md": "markdown",
}
_ESCAPE = re.compile(r"\\([nt\"'\\])")


def kind_of(path, text):
    """Returns the kind of a file by its name or first line, or None."""
    name = os.path.basename(path)
    if name in ("BUILD", "WORKSPACE"):
        return "hash"
    suffix = os.path.splitext(name)[1]
    if suffix in _KINDS:
        return _KINDS[suffix]
    if not suffix and text.startswith("#!"):
        first = text.split("\n", 1)[0]
        if "python" in first:
            return "hash"
        if "sh" in first:
            return "shell"
    return None


class Block:
    """A comment, string or paragraph, with the offset of each character."""

    def __init__(self, is_comment):
        self.is_comment = is_comment
        self.text = ""
        self.offsets = []

    def add(self, text, offset):
        self.text += text
        self.offsets += range(offset, offset + len(text))


def _code_blocks(text, pattern):
    """Yields comments and string literals. Adjacent ones are joined."""
    block, end = None, 0
    for match in pattern.finditer(text):
        group = match.lastgroup
        if group is None:  # a character literal
            continue
        is_comment = group in ("comment", "block")
        content, start = match.group(group), match.start(group)
        gap = text[end:match.start()]
        joined = (block is not None and block.is_comment == is_comment
                  and group != "block" and not gap.strip()
                  and (not is_comment or gap.count("\n") == 1))
        # An empty line separates the paragraphs of a comment.
        if not joined or is_comment and not content.strip("/#! "):
            if block is not None:
                yield block
            block = Block(is_comment)
        if group == "comment":
            words = content.lstrip("/#! ")
            if block.text:
                block.add(" ", start)
            block.add(words, start + len(content) - len(words))
        else:
            block.add(_ESCAPE.sub("  ", content), start)
        end = match.end()
    if block is not None:
        yield block


def _markdown_blocks(text):
    """Yields paragraphs, list items and cells of tables, without code."""
    block, offset, fenced = Block(False), 0, False
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
        is_new = re.match(r"\s*([*+-]|\d+\.|#+|\||>)\s*", line)
        is_code = fenced or stripped.startswith("```") or (
            line.startswith("    ") and not block.text)
        if not stripped or is_code or is_new:
            yield block
            block = Block(False)
        if stripped and not is_code:
            start = is_new.end() if is_new else len(line) - len(line.lstrip())
            block.add(re.sub(r"`[^`]*`", lambda code: "`" * len(code.group()),
                             line[start:]), offset + start)
        offset += len(line)
    yield block


def _hits_of_block(block):
    yield from (("opens_with_of", match.start(1))
                for match in _OF.finditer(block.text))
    if block.is_comment:
        for habit, pattern in (("opens_with_of", _COMMENT_OF),
                               ("opens_with_what", _WHAT)):
            match = pattern.match(block.text)
            if match:
                yield habit, match.start(1)
    for match in _THOSE.finditer(block.text):
        if not _NOUN_REPEATED.search(block.text[:match.start()]):
            yield "those_of", match.start()


def hits(path, text):
    """Returns the hits of a file as (line, habit, words), ordered by line."""
    kind = kind_of(path, text)
    if kind is None:
        return []
    blocks = (_markdown_blocks(text) if kind == "markdown"
              else _code_blocks(text, _TOKENS[kind]))
    found = []
    for block in blocks:
        for habit, at in _hits_of_block(block):
            line = text.count("\n", 0, block.offsets[at]) + 1
            words = " ".join(block.text[at:at + 40].split())
            found.append((line, habit, words))
    return sorted(found)


def files_of(root):
    """Returns the files that Git does not ignore, relative to the root."""
    with open(os.path.join(root, ".gitignore"), encoding="utf-8") as file:
        ignored = file.read().split()
    for folder, folders, names in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [
            name for name in folders
            if (not name.startswith(".") or name == ".ci")
            and not name.startswith("bazel-") and f"{name}/" not in ignored
            and "/" + os.path.normpath(f"{place}/{name}") + "/" not in ignored
        ]
        for name in names:
            path = os.path.normpath(os.path.join(place, name))
            if path != _EXEMPT and not os.path.islink(os.path.join(root, path)):
                yield path


def hits_of_tree(root):
    """Returns the hits by file and habit: {(path, habit): [(line, words)]}."""
    found = collections.defaultdict(list)
    for path in files_of(root):
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        if os.path.splitext(path)[1] in _KINDS or b"\0" not in data[:1000]:
            text = data.decode("utf-8", errors="replace")
            for line, habit, words in hits(path, text):
                found[path, habit].append((line, words))
    return found


def parse(text):
    """Returns the counts of a list, by file and habit."""
    rows = (line.split() for line in text.splitlines()
            if line and not line.startswith("#"))
    return {(path, habit): int(count) for path, habit, count in rows}


def render(found):
    """Returns the list for these hits."""
    return _HEADER + "".join(f"{path} {habit} {len(found[path, habit])}\n"
                             for path, habit in sorted(found))


def findings(found, allowed):
    """Yields a message for each difference between the hits and the list."""
    for key in sorted(set(found) | set(allowed)):
        path, habit = key
        count, listed = len(found.get(key, [])), allowed.get(key, 0)
        if count > listed:
            yield from (f"{path}:{line}: {habit}: '{words}': {_ADVICE[habit]}"
                        for line, words in found[key])
            yield (f"{path}: {habit}: {count} hits, and {_LIST} allows "
                   f"{listed}: reword {count - listed}")
        elif count < listed:
            yield (f"{_LIST}: {path} {habit}: lower it from {listed} to "
                   f"{count}: tools/lint/words.py --renew")


def totals(counts):
    """Returns the sums by habit of {(path, habit): count}."""
    return {habit: sum(count for (_, other), count in counts.items()
                       if other == habit) for habit in _ADVICE}


def _counts(found):
    return {key: len(lines) for key, lines in found.items()}


def by_directory(found):
    """Returns a table of the hits of each directory, without subdirectories."""
    directories = collections.defaultdict(dict)
    for (path, habit), lines in found.items():
        directories[os.path.dirname(path) or "."][path, habit] = len(lines)
    rows = [("directory", *_ADVICE)]
    rows += [(name, *totals(directories[name]).values())
             for name in sorted(directories)]
    rows += [("total", *totals(_counts(found)).values())]
    widths = [max(len(str(value)) for value in column)
              for column in zip(*rows)]
    for row in rows:
        yield f"{row[0]:{widths[0]}}" + "".join(
            f"  {value:>{width}}" for value, width in zip(row[1:], widths[1:]))


def renew(root, found):
    """Writes the list. Returns an error if a total would increase."""
    path = os.path.join(root, _LIST)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            allowed = parse(file.read())
        before, after = totals(allowed), totals(_counts(found))
        if any(after[habit] > before[habit] for habit in after):
            return [*findings(found, allowed),
                    f"not renewed: totals would rise from {before} to {after}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write(render(found))
    return []


def main(arguments):
    if arguments not in ([], ["--renew"], ["--by_directory"]):
        print(__doc__)
        return 2
    found = hits_of_tree(_ROOT)
    if arguments == ["--by_directory"]:
        print(*by_directory(found), sep="\n")
        return 0
    if arguments == ["--renew"]:
        messages = renew(_ROOT, found)
    else:
        with open(os.path.join(_ROOT, _LIST), encoding="utf-8") as file:
            messages = list(findings(found, parse(file.read())))
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
