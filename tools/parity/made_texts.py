"""Texts for comparing tokenizers, and the ids that Regard gives them."""

import pathlib
import subprocess

LINES = 20000
PROGRAM = "bazel-bin/tools/parity/print_ids"
POOLS = [
    (0x1F300, 0x1FAFF), (0x2600, 0x27BF), (0x4E00, 0x9FFF), (0x3000, 0x30FF),
    (0xAC00, 0xD7A3), (0x0001, 0x0020), (0x007F, 0x00A0), (0x0300, 0x036F),
    (0x00C0, 0x024F), (0x0370, 0x052F), (0x0590, 0x06FF), (0x0900, 0x0DFF),
    (0x0E00, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x2BFF),
    (0xF900, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x323AF),
    (0xE0000, 0x10FFFF), (0x0001, 0x10FFFF)]


def character(source, pool):
    while True:
        code = source.randint(*pool)
        if not 0xD800 <= code < 0xE000 and code != 0x0A:
            return chr(code)


def read_lines(files):
    """Returns evenly spaced lines, split into columns, at most 4/5 of LINES."""
    read = [
        column for name in files
        for line in pathlib.Path(name).read_text("utf-8").split("\n")
        for column in line.split("\t")]
    step = max(1, len(read) // (LINES * 4 // 5))
    return read[::step][:LINES * 4 // 5]


def print_ids(kind, folder, texts):
    """Returns the ids of texts, which are bytes without NUL."""
    output = subprocess.run(
        [PROGRAM, kind, folder], input=b"".join(text + b"\0" for text in texts),
        check=True, stdout=subprocess.PIPE).stdout.decode()
    return [[int(i) for i in line.split()] for line in output.splitlines()]


def compare(texts, wanted, got):
    """Prints the first differences and their number. Returns the exit code."""
    assert len(got) == len(wanted), f"{len(got)} texts of {len(wanted)}"
    differences = [i for i in range(len(texts)) if got[i] != wanted[i]]
    for i in differences[:10]:
        print(repr(texts[i]), "\n  wanted", wanted[i], "\n  got   ", got[i])
    ids = sum(map(len, wanted))
    print(f"{len(texts)} texts, {ids} ids, {len(differences)} differences")
    return 1 if differences else 0
