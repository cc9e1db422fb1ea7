#!/usr/bin/env python3
"""Compares ids of WordPiece with those of transformers' fast tokeniser.

    pip install transformers
    tools/bazel build //tools/parity:print_ids
    tools/parity/check_wordpiece.py MODEL_FOLDER [TEXT_FILE...]

Reads evenly spaced lines of the files, each column of a tab-separated line on
its own, and as many made of emoji, Chinese, control characters, combining marks
and any other code points, 20,000 lines in all. Exits 1 if any line differs.
"""

import pathlib
import random
import subprocess
import sys

from transformers import AutoTokenizer

LINES = 20000
PROGRAM = "bazel-bin/tools/parity/print_ids"
POOLS = [
    (0x1F300, 0x1FAFF), (0x2600, 0x27BF), (0x4E00, 0x9FFF), (0x3000, 0x30FF),
    (0xAC00, 0xD7A3), (0x0001, 0x0020), (0x007F, 0x00A0), (0x0300, 0x036F),
    (0x00C0, 0x024F), (0x0370, 0x052F), (0x0590, 0x06FF), (0x0900, 0x0DFF),
    (0x0E00, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF),
    (0xF900, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x323AF),
    (0xE0000, 0x10FFFF), (0x0001, 0x10FFFF)]
TOKENS = ["[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[mask]", "[MASK"]


def character(source, pool):
    while True:
        code = source.randint(*pool)
        if not 0xD800 <= code < 0xE000 and code != 0x0A:
            return chr(code)


def made_line(source, words):
    parts = []
    for _ in range(source.randint(1, 8)):
        kind = source.random()
        if kind < 0.4:
            word = list(source.choice(words))
            for _ in range(source.randint(0, 2)):
                word.insert(source.randint(0, len(word)),
                            character(source, source.choice(POOLS)))
            parts.append("".join(word))
        elif kind < 0.85:
            pool = source.choice(POOLS)
            parts.append("".join(
                character(source, pool) for _ in range(source.randint(1, 6))))
        elif kind < 0.97:
            parts.append(source.choice(TOKENS))
        else:
            parts.append(source.choice(words) * source.randint(1, 30))
        parts.append(source.choice(["", " ", " ", "  "]))
    return "".join(parts)


def main():
    folder, files = sys.argv[1], sys.argv[2:]
    source = random.Random(0)
    read = [
        column for name in files
        for line in pathlib.Path(name).read_text("utf-8").split("\n")
        for column in line.split("\t")]
    step = max(1, len(read) // (LINES * 4 // 5))
    lines = read[::step][:LINES * 4 // 5]
    words = " ".join(lines).split() or ["word"]
    while len(lines) < LINES:
        lines.append(made_line(source, words))
    tokenizer = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    wanted = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
    output = subprocess.run(
        [PROGRAM, folder], input="\n".join(lines).encode() + b"\n", check=True,
        stdout=subprocess.PIPE).stdout.decode()
    got = [[int(i) for i in line.split()] for line in output.splitlines()]
    assert len(got) == len(wanted), f"{len(got)} lines of {len(wanted)}"
    differences = [i for i in range(len(lines)) if got[i] != wanted[i]]
    for i in differences[:10]:
        print(repr(lines[i]), "\n  wanted", wanted[i], "\n  got   ", got[i])
    ids = sum(map(len, wanted))
    print(f"{len(lines)} lines, {ids} ids, {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
