#!/usr/bin/env python3
"""Compares ids of WordPiece with the ids of transformers' fast tokenizer.

    pip install transformers
    tools/bazel build //tools/parity:print_ids
    tools/parity/check_wordpiece.py MODEL_FOLDER [TEXT_FILE...]

Reads 20,000 lines: evenly spaced lines of the files, and random lines. Each
column of a tab-separated line is a text. Random lines consist of emoji,
Chinese, control characters, combining marks and any other code points. Exits
with 1 if any line differs.
"""

import random
import sys

from transformers import AutoTokenizer

from made_texts import (
    LINES, character, compare, POOLS, print_ids, read_lines)

TOKENS = ["[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[mask]", "[MASK"]


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
    lines = read_lines(files)
    words = " ".join(lines).split() or ["word"]
    while len(lines) < LINES:
        lines.append(made_line(source, words))
    tokenizer = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    wanted = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
    got = print_ids("wordpiece", folder, [line.encode() for line in lines])
    return compare(lines, wanted, got)


if __name__ == "__main__":
    sys.exit(main())
