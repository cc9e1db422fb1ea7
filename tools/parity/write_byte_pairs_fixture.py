#!/usr/bin/env python3
"""Writes reference ids from the tokenizers library for the test of BytePairs.

    pip install tokenizers
    tools/parity/write_byte_pairs_fixture.py .

byte_pairs.json is a tokenizer.json, trained on the texts below. A line of
byte_pairs.txt contains a text and its ids, separated by a tab. All bytes of the
text except printable ASCII are escaped.
"""

import itertools
import pathlib
import sys

from tokenizers import (
    AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers)

END = "<|endoftext|>"
WORDS = """the a old small cat cats dog bird birds sings singing sang slept
sleeps they are watching we've you'll it's don't I'm he'd can't 2024 1,000 3.14
http://example.org/a_b?c=d caf\u00e9 na\u00efve stra\u00dfe \u4e2d\u6587
\u65e5\u672c\u8a9e \u0440\u0443\u0441\u0441\u043a\u0438\u0439
\u05e2\u05d1\u05e8\u05d9\u05ea \u0639\u0631\u0628\u064a
\u0939\u093f\u0928\u094d\u0926\u0940 \ud55c\uad6d\uc5b4 \u0e44\u0e17\u0e22
\U0001f600\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467""".split()
# A character of each class, and characters that Unicode 15.1 and 16 added.
CHARACTERS = """a Z 0 9 _ ' - . # \u00e9 \u00df \u00b2 \u00bd \u0661 \u0967
\u2167 \u3007 \u02b0 \u0301 \u200d \u200b \ufeff \u00ad \u4e2d \uac00 \u0905
\u093f \u0e01 \u0e31 \U0001f600 \U0001f3fd \U0001f1eb \u2764 \ufe0f \u20ac
\ufffd \U0001d400 \U0001d7d8 \U00020000 \U0002ebf0 \U00011380 \ua7cb
\U00010d40 \U0001ccf0 \U000116d0 \u0378 \ue000 \U0010ffff""".split()
SPACES = ["\t", "\n", "\r", "\x0b", "\x0c", " ", "\x1c", "\x1f", "\x85", "\xa0",
          "\u1680", "\u180e", "\u2000", "\u200a", "\u2028", "\u2029", "\u202f",
          "\u205f", "\u3000"]
TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", "\t\t\t", " \n ", "\r\n", " a", "  a",
    "   a", "a ", "a  ", "a   b", "\n\na", "a\n\nb", "a \n b", "a\r\n\r\nb",
    "the cat", "the  cat", " the cat\n", "The CAT", "they're watching",
    "THEY'RE", "it's 'its' ''s '' 's", "I'll I'd I'm I've can't you're",
    "x's's", "'t're'velmd", "'s", "' s", " 's", "''ll", "'llama", "'ra",
    "don\u2019t", "2024-01-02", "1,000.50", " 12ab34 ", "a1b2c3", "3\u00bd",
    "$100%!?", "...", "... ...", "--a--b--", "a_b_c", "#tag @name", "\x00",
    "a\x00b", "\x01\x7f\x80", END, END + END, "a" + END + "b",
    "  " + END + "  ", "<|endoftext", "<|end|>|endoftext|>", "<|endoftext|>>",
    "<mask>", "a  <mask>  b", "<mask><mask>", "<mask> <mask>", "<mask",
    "<masked>", "\u3000<mask>\n\nb", "<\u00e9>", "a<\u00e9>b", "<<\u00e9>>",
    "cats cats" * 20, "ab" * 100, "a" * 257, " " * 100 + "a", "!" * 99,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7",
    "\u1112\u1161\u11ab \ud55c", "e\u0301 \u00e9", "\ufb01 \u2126",
]


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    pairs = [" ".join(pair) for pair in itertools.product(WORDS[:20], WORDS)]
    tokenizer.train_from_iterator(pairs, trainers.BpeTrainer(
        vocab_size=560, show_progress=False, special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens([
        AddedToken("<mask>", lstrip=True), AddedToken("<\u00e9>", rstrip=True)])
    tokenizer.add_tokens(["<<", "birds sing"])
    return tokenizer


def texts():
    yield from TEXTS
    for character in CHARACTERS:
        yield f"a{character}1{character} {character}{character}!'{character}s"
    for space in SPACES:
        yield f"a{space}b{space}{space}c {space}1{space} !{space}"
    for i, word in enumerate(WORDS):
        yield word
        yield f"{word}{WORDS[i - 1]} {word.upper()}  {word[::-1]}\n{word}"
    for i, pair in enumerate(itertools.product(CHARACTERS[::5], repeat=2)):
        yield "birds sing " * (i % 2) + "".join(pair) + SPACES[i % len(SPACES)]


def escape(text):
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\{byte:03o}"
        for byte in text.encode())


def main():
    folder = pathlib.Path(sys.argv[1]) / "data/text/testdata"
    tokenizer = train()
    (folder / "byte_pairs.json").write_text(tokenizer.to_str(pretty=True) + "\n")
    lines = []
    for text in texts():
        ids = tokenizer.encode(text).ids
        lines.append("\t".join([escape(text), " ".join(map(str, ids))]))
    (folder / "byte_pairs.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
