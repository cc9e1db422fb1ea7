#!/usr/bin/env python3
"""Evaluates runs on their own data with every program.

Usage: awkward_text_test.py PATH_OF_REGARD

Each program must reproduce the outputs and scores of the run, whatever
characters are in the text.
"""

import json
import os
import re
import struct
import subprocess
import sys
import zlib

REGARD = os.path.abspath(sys.argv[1])
TOLERANCE = 1e-6

# Characters that may be handled differently by different programs. None of them
# ends a line, and none is a tab, which separates columns.
CHARACTERS = (
    "'\"‘’“”«`´ʼ"
    # Spaces, and separators of lines and paragraphs.
    "\u00a0\u1680\u2003\u2009\u200a\u202f\u205f\u3000\u2028\u2029\u0085\v\f"
    # Joiners and other characters without width.
    "\u200b\u200c\u200d\u2060\ufeff\u00ad"
    # Direction marks.
    "\u200e\u200f\u202a\u202e\u2066\u2069\u061c"
    # Controls.
    "\x01\x1b\x1c\x7f"
    # Combining marks.
    "\u0301\u0308\u0327\u20e3"
    # Unassigned and private-use characters, and noncharacters.
    "\u0378\U0001fbff\ue000\U0010ffff"
)
SOURCES = [f"We{c}see {c} cats{c} and birds." for c in CHARACTERS]
TARGETS = [f"Nous{c}voyons {c} chats{c} et oiseaux !" for c in CHARACTERS]

cells = 0
failures = 0


def check(what, wanted, got, count=1):
    """Compares outputs, and adds `count` to the number of checks."""
    global cells, failures
    cells += count
    if wanted == got:
        return
    failures += 1
    if isinstance(wanted, list) and len(wanted) == len(got):
        bad = [i for i, (a, b) in enumerate(zip(wanted, got)) if a != b]
        print(f"FAILED: {what}: {len(bad)} differ; the first is {bad[0]}")
        wanted, got = wanted[bad[0]], got[bad[0]]
    else:
        print(f"FAILED: {what}")
    print(f"  wanted: {wanted!r}\n  got:    {got!r}")


def check_close(what, wanted, got, scale=1.0):
    near = len(wanted) == len(got) and all(
        abs(a - b) <= TOLERANCE * scale for a, b in zip(wanted, got)
    )
    check(what, wanted, wanted if near else got, len(wanted))


def call(*arguments, text="", code=0):
    """Returns the standard output of a program as lines."""
    done = subprocess.run(
        [REGARD, *arguments],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode != code:
        sys.exit(f"{arguments}: exit code {done.returncode}\n"
                 f"{done.stderr.decode()}")
    call.errors = done.stderr.decode()
    return done.stdout.decode().split("\n")[:-1]


def calls_of_json(*arguments, **rest):
    return [json.loads(line) for line in call(*arguments, **rest)]


def write(path, lines, end="\n", begin=""):
    with open(path, "wb") as file:
        file.write((begin + "".join(line + end for line in lines)).encode())


def train(name, config, *overrides):
    with open(f"{name}.textproto", "w", encoding="utf-8") as file:
        file.write(f"name: '{name}' {config} optimizer {{ adam {{}} "
                   "learning_rate: 0.02 } training { epochs: 3 "
                   "batch_size: 8 }")
    sets = [f"--set={override}" for override in overrides]
    call("train", f"--config={name}.textproto", f"--run={name}", *sets)
    return metrics_of(name)


def metrics_of(name):
    with open(f"{name}/status.json", encoding="utf-8") as file:
        return json.load(file)["metrics"]


def rows_of(name):
    """Returns the examples of the run's data sets, without their headers."""
    with open(f"{name}/examples.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file.read().split("\n")[:-1]]
    return [row for row in rows if "input" in row]


def check_evaluation(name, split="dev"):
    measured = metrics_of(name)
    got = calls_of_json("evaluate", f"--run={name}", "--json")[0]["metrics"]
    names = [metric for metric in got if metric.startswith(split)]
    check_close(f"{name}: evaluate", [measured[n] for n in names],
                [got[n] for n in names])


# Translation.

TRANSLATION = """
  model {
    encoder { embedding: 8 hidden: 8 } attention { additive { width: 8 } }
    decoder { embedding: 8 hidden: 8 initial_state: PROJECTED }
  }
  search { max_length: 8 max_length_ratio: 0 }
"""
PAIRS = [f"{a}\t{b}" for a, b in zip(SOURCES, TARGETS)]


def check_translations(name, inspected=True):
    run = f"--run={name}"
    rows = rows_of(name)
    outputs = [row["output"] for row in rows]
    check(f"{name}: an output for each line", len(SOURCES), len(outputs))
    lines = "".join(line + "\n" for line in SOURCES)
    check(f"{name}: translate, piped", outputs,
          call("translate", run, text=lines), len(outputs))
    check(f"{name}: nothing unknown", False, "does not know" in call.errors)
    check(f"{name}: translate, typed", outputs,
          call("translate", run, *SOURCES), len(outputs))
    check(f"{name}: predict, piped", outputs,
          call("predict", run, text=lines), len(outputs))
    check(f"{name}: predict, typed", outputs,
          call("predict", run, *SOURCES), len(outputs))
    examples = [f"--example={i}" for i in range(len(SOURCES))]
    check(f"{name}: predict, examples", outputs,
          call("predict", run, *examples), len(outputs))
    text = "".join(pair + "\n" for pair in PAIRS)
    scores = [float(s) for s in call("translate", run, "--score", text=text)]
    if inspected:
        values = []
        for source, target in zip(SOURCES, TARGETS):
            seen = calls_of_json("inspect", run, "--json",
                                 f"--target={target}", f"--source={source}")
            values.append([one["value"] for one in seen[0]["outputs"]])
        check_close(f"{name}: inspect", scores, [sum(v) for v in values],
                    scale=10)
        tokens = sum(len(v) for v in values)
    else:
        # Counts the words of the reference and <eos>.
        tokens = sum(row["statistics"][0][1] + 1 for row in rows)
    check_close(f"{name}: translate --score", [metrics_of(name)["dev/loss"]],
                [-sum(scores) / tokens])
    check_evaluation(name)


def translations():
    write("dev.en", SOURCES)
    write("dev.fr", TARGETS)
    # A blank line must be ignored.
    write("pairs.tsv", PAIRS + [" ", "\u00a0\t", ""] + PAIRS)
    train("columns", f"data {{ pairs {{ dev_pairs: {len(PAIRS)} }} }}"
          + TRANSLATION, "data.path=pairs.tsv")
    check_translations("columns", inspected=False)
    split = "{ source: 'dev.en' target: 'dev.fr' }"
    files = f"train {split} dev {split}"
    words = f"data {{ pairs {{ {files} }} }} {TRANSLATION}"
    train("words", words)
    check_translations("words")
    train("subwords", f"data {{ pairs {{ {files} subwords {{ "
          f"vocabulary_size: 110 }} }} }} {TRANSLATION}")
    check_translations("subwords")

    # Other line ends and a byte order mark must not change the translations.
    outputs = call("translate", "--run=words", text="\n".join(SOURCES))
    for kind, end in [("crlf", "\r\n"), ("cr", "\r")]:
        text = "\ufeff" + "".join(line + end for line in SOURCES)
        for program in ["translate", "predict"]:
            check(f"{program}, {kind}", outputs,
                  call(program, "--run=words", text=text), len(outputs))
            check(f"{program}, {kind}: a note", True,
                  f"standard input: {len(SOURCES)} lines end in a carriage "
                  "return" in call.errors)
        write("ends.en", SOURCES, end, "\ufeff")
        write("ends.fr", TARGETS, end, "\ufeff")
        metrics = train(f"words_{kind}", words.replace("dev.", "ends."))
        check_close(f"train, {kind}", [metrics_of("words")["dev/loss"]],
                    [metrics["dev/loss"]])

    # A blank line must have a blank translation. A malformed pair must have no
    # score.
    check("blank lines", ["", outputs[0], ""],
          call("translate", "--run=words", text=f"\n{SOURCES[0]}\n \u3000\n"))
    score = call("translate", "--run=words", "--score", text=PAIRS[0] + "\n")
    check("blank lines between pairs", ["", score[0], ""],
          call("translate", "--run=words", "--score",
               text=f"\n{PAIRS[0]}\n \n"))

    # A run that is older than data.text_version must read text as before.
    train("old", words, "data.text_version=0")
    with open("old/resolved.textproto", encoding="utf-8") as file:
        text = file.read()
    check("the version is recorded", 1,
          len(re.findall(r"\n  text_version: 0 .*", text)))
    with open("old/resolved.textproto", "w", encoding="utf-8") as file:
        file.write(re.sub(r"\n  text_version: 0 .*", "", text))
    check("another loss", False,
          metrics_of("old")["dev/loss"] == metrics_of("words")["dev/loss"])
    check_translations("old", inspected=False)
    call("train", "--run=old", "--resume")
    call("train", "--config=old.textproto", "--run=old", "--resume")


# Language models.

TRANSFORMER = "transformer { width: 8 layers: 1 attention { heads: 2 } }"


def language_model(name, config):
    write("text.txt", SOURCES)
    data = "data { text { dev_fraction: 0 } } "
    measured = train(name, data + config, "data.path=text.txt",
                     "data.dev_path=text.txt")
    run = f"--run={name}"
    got = calls_of_json("evaluate", run, "--text=text.txt", "--json")
    check_close(f"{name}: evaluate --text", [measured["dev/loss"]],
                [got[0]["metrics"]["test/loss"]])
    check_evaluation(name)
    examples = [f"--example={i}" for i in range(len(SOURCES))]
    asked = calls_of_json("predict", run, "--json", "--length=20", *examples)
    inputs = [one["input"] for one in asked]
    answers = [one["answer"] for one in asked]
    check(f"{name}: predict, piped", answers,
          call("predict", run, "--length=20",
               text="".join(line + "\n" for line in inputs)), len(inputs))
    space = " " if "WORDS" in config else ""
    texts = [a + (space + b if b else "") for a, b in zip(inputs, answers)]
    check(f"{name}: generate, piped", texts,
          call("generate", run, "--top_k=1", "--length=20",
               text="".join(line + "\n" for line in inputs)), len(inputs))
    check(f"{name}: generate, typed", texts,
          call("generate", run, "--top_k=1", "--length=20", *inputs),
          len(inputs))
    for end in ["\r\n", "\r"]:
        write("ends.txt", SOURCES, end, "\ufeff")
        metrics = train(f"{name}_{len(end)}", data + config,
                        "data.path=ends.txt", "data.dev_path=ends.txt")
        check_close(f"{name}: train, {end!r}", [measured["dev/loss"]],
                    [metrics["dev/loss"]])
        check(f"{name}: generate, {end!r}", texts,
              call("generate", run, "--top_k=1", "--length=20",
                   text="\ufeff" + "".join(i + end for i in inputs)),
              len(inputs))


def language_models():
    lines = f"examples: LINES block: 64 {TRANSFORMER}"
    language_model("characters", f"model {{ language_model {{ {lines} }} }}")
    language_model("lm_words",
                   f"model {{ language_model {{ unit: WORDS {lines} }} }}")


def choices_of(answers):
    return [
        number
        for answer in answers
        for ranked in answer.get("choices", [])
        for number in sorted(one["probability"] for one in ranked)
    ]


def masked_words():
    write("text.txt", SOURCES)
    train("masked", f"data {{ text {{ dev_fraction: 0 }} }} model {{ bert {{ "
          f"{TRANSFORMER} masked_words {{ block: 8 }} }} }}",
          "data.path=text.txt", "data.dev_path=text.txt")
    # Predicts one block after the other, up to the end of the text.
    examples = calls_of_json("predict", "--run=masked", "--json",
                             *[f"--example={i}" for i in range(30)])
    typed = calls_of_json("predict", "--run=masked", "--json",
                          text="".join(e["input"] + "\n" for e in examples))
    check("masked: predict, piped", [e["answer"] for e in examples],
          [t["answer"] for t in typed], len(examples))
    check_close("masked: their probabilities", choices_of(examples),
                choices_of(typed))
    check_evaluation("masked")


# Classes, embeddings and captions.


def classes():
    lines = [f"{'ab'[i % 2]}\t{line}" for i, line in enumerate(SOURCES)]
    write("labelled.tsv", ["", *lines, "\u3000 ", *lines, "\t"])
    train("classes", "data { labelled_text { dev_fraction: 0.5 } } model { "
          f"text_classifier {{ bert {{ {TRANSFORMER} masked_words {{ block: "
          "32 } } } }", "data.path=labelled.tsv")
    examples = calls_of_json(
        "predict", "--run=classes", "--json",
        *[f"--example={i}" for i in range(len(SOURCES))])
    typed = calls_of_json("predict", "--run=classes", "--json",
                          text="".join(line + "\n" for line in SOURCES))
    check("classes: predict, piped", [e["answer"] for e in examples],
          [t["answer"] for t in typed], len(examples))
    check_close("classes: their probabilities", choices_of(examples),
                choices_of(typed))
    check_evaluation("classes")
    for end in ["\r\n", "\r"]:
        ended = call("predict", "--run=classes",
                     text="\ufeff" + "".join(line + end for line in SOURCES))
        check(f"classes: predict, {end!r}", [t["answer"] for t in typed],
              ended, len(ended))


def vectors():
    lines = [f"{pair}\t{i % 5}" for i, pair in enumerate(PAIRS)]
    write("scored.tsv", [*lines, "\u00a0", *lines])
    train("vectors", "data { scored_pairs { dev_fraction: 0.5 "
          "test_fraction: 0 highest: 5 } } model { text_embedder { bert { "
          f"{TRANSFORMER} masked_words {{ block: 32 }} }} }} }}",
          "data.path=scored.tsv")
    own = calls_of_json("predict", "--run=vectors", "--json",
                        *[f"--example={i}" for i in range(len(PAIRS))])
    text = "".join(pair + "\n" for pair in PAIRS)
    typed = calls_of_json("predict", "--run=vectors", "--json", text=text)
    own = [answer["values"][0] for answer in own]
    check_close("vectors: predict, piped", own,
                [answer["values"][0] for answer in typed])
    embedded = call("embed", "--run=vectors", "--pairs",
                    text="\ufeff" + text.replace("\n", "\r"))
    check_close("vectors: embed --pairs", own, [float(e) for e in embedded])
    blank = call("embed", "--run=vectors", "--pairs", text=PAIRS[0] + "\n\n")
    check("vectors: a blank line", [embedded[0], ""], blank)
    check_evaluation("vectors")


def picture(path, level):
    def chunk(kind, data):
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    header = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes([level] * 8) for _ in range(8))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def captions():
    picture("a.png", 50)
    picture("b.png", 200)
    write("captions.tsv", [f"{image}\t{line}" for line in SOURCES
                           for image in ["a.png", "b.png"]])
    train("captions", "data { captions { list: 'captions.tsv' prompt: 'a' "
          "dev_fraction: 0.5 test_fraction: 0 format { height: 8 width: 8 } } "
          "} search { max_length: 6 max_length_ratio: 0 } model { captioner { "
          f"prompt: 'a' vision_transformer {{ patch: 4 {TRANSFORMER} }} "
          "decoder { width: 8 layers: 1 attention { heads: 2 } } } }")
    # Each half of the list contains the image with one grey value.
    known, total, tokens = [], {}, 0
    for image in ["a.png", "b.png"]:
        total[image] = 0
        tokens = 0
        for line in SOURCES:
            seen = calls_of_json("inspect", "--run=captions", "--json",
                                 f"--target={line}", f"--source={image}")[0]
            known.append(seen.get("notes", []))
            total[image] -= sum(one["value"] for one in seen["outputs"])
            tokens += len(seen["outputs"])
    check("captions: every word is known", [[]] * len(known), known,
          len(known))
    loss = metrics_of("captions")["dev/loss"]
    nearest = min(total.values(), key=lambda t: abs(t / tokens - loss))
    check_close("captions: inspect", [loss], [nearest / tokens])
    check_evaluation("captions")


def main():
    os.chdir(os.environ.get("TEST_TMPDIR", "."))
    os.environ.pop("BUILD_WORKING_DIRECTORY", None)
    for source in [translations, language_models, masked_words, classes,
                   vectors, captions]:
        source()
    print(f"{len(CHARACTERS)} characters: {cells} cells, {failures} differ")
    sys.exit(1 if failures > 0 else 0)


if __name__ == "__main__":
    main()
