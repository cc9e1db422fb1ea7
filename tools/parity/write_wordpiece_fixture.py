#!/usr/bin/env python3
"""Writes reference ids from the tokenizers library for the test of WordPiece.

    pip install tokenizers
    tools/parity/write_wordpiece_fixture.py .

The file contains a vocabulary, one token per line, an empty line, and cases. A
case has the options, the text and the ids, separated by tabs. All bytes of the
text except printable ASCII are escaped.
"""

import pathlib
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = """the th ##e a ##a b ##b c ##c caf ##fe cafe caf\u00e9 ##\u00e9 un
##aff ##able x ##x xx ##xx i ##i ##\u0307 stanbul ##stanbul I ##A A \u00e5 .
, ! - ' [ ] mask ##\u1100 \u1100 \u1161 ##\u1161 ##\u11a8 \u4e2d \u6587 \u3002
\u03c3 ##\u03c3 \u00df \u2014 \u00bf que \U0001f600 $ + 1 ##2 @ @-@ \u0301
##\u0301 ##. # ## \u166d \u02b0 ##\u1ac1 \u0905 ##\u0905 \ufffd [unused0]"""
TEXTS = [
    "", " ", "the unaffable the", "The THE tHe", "unaffableq the", "a.b,c!",
    "caf\u00e9 cafe\u0301 CAFE\u0301\u0301", "\u0130stanbul Istanbul",
    "\u212b A\u030a", "\uac00\uac01", "\u4e2d\u6587a\u3002b", "\uf900",
    "\u03a3\u03a3 \u1e9e", "a\u00a0b\u2003c\u3000a", "a\u2028b\u0085c",
    "a\tb\nc\rd\x0be\x0cf\x1cg", "a\u200bb\u00adc\ufeff\ufffd\x00a\x7fb",
    "the [MASK] the", "a[MASK]b[CLS]", "[mask] [MASK", "[MASK][MASK]]",
    "[UNK] [unused0]", "x" * 100, "x" * 101, "x" * 99 + "\u0301\u0301",
    "\u00bfque? \u2014x\u2013", "$1+1", "\U0001f600\U0001f600", "\U0001f600 a",
    "@-@ #a ##a", "\ue000a\U000e0001b", "a\u166db", "a\u1734b", "a\u1ac1b",
    "a\u2e43b", "\u02b0", "\u0905\u093c\u0905", "\u0378 a", "12 1\u0662",
    "it's the a-b", "a\u0323\u0301b a\u0301\u0323b", "\ufb01 \u2126",
]
OPTIONS = {
    "uncased": {},
    "cased": {"lowercase": False},
    "accents": {"strip_accents": False},
    "cased_stripped": {"lowercase": False, "strip_accents": True},
    "raw": {"clean_text": False, "handle_chinese_chars": False},
}


def make(options):
    vocabulary = SPECIAL + PIECES.split()
    tokenizer = Tokenizer(models.WordPiece(
        {token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    return vocabulary, tokenizer


def escape(text):
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\{byte:03o}"
        for byte in text.encode())


def main():
    vocabulary, _ = make({})
    assert len(set(vocabulary)) == len(vocabulary)
    lines = vocabulary + [""]
    for name, options in OPTIONS.items():
        _, tokenizer = make(options)
        for text in TEXTS:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            lines.append("\t".join(
                [name, escape(text), " ".join(map(str, ids))]))
    folder = pathlib.Path(sys.argv[1]) / "data/text/testdata"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wordpiece.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
