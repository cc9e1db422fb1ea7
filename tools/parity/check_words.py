#!/usr/bin/env python3
"""Compares how //tools:predict fills in [MASK] with transformers.

Compares a folder, and the same model after an export. For a model of next
sentences, also compares whether one text follows another.

    pip install torch transformers
    tools/bazel build //tools:{export,predict}
    tools/parity/check_words.py MODEL_FOLDER TEXT COPY

The inputs are the lines of TEXT, with some words masked. Exits with 1 if a
probability differs too much from the result in double precision. The limit is
the greater of 1e-5 and twice the difference of transformers in float.
"""

import json
import pathlib
import random
import subprocess
import sys

import torch
import transformers

from exports import export


def masked(lines, pairs, source):
    """Returns texts with [MASK], then pairs of texts with and without it."""
    texts = []
    for line in lines:
        words = line.split()
        if not words:
            continue
        for _ in range(source.randint(1, 2)):
            words[source.randrange(len(words))] = "[MASK]"
        texts.append(" ".join(words))
    if pairs:
        texts += [f"{a}\t{b}" for a, b in zip(texts, lines)]
        texts += [f"{a}\t{b}" for a, b in zip(lines, lines[1:])]
    return texts


def ours(folder, inputs):
    output = subprocess.run(
        ["bazel-bin/tools/predict", f"--run={folder}", "--json",
         "--top=1000000"], check=True,
        input="".join(line + "\n" for line in inputs).encode(),
        stdout=subprocess.PIPE).stdout
    return [[{choice["name"]: choice["probability"] for choice in of_one}
             for of_one in json.loads(line)["choices"]]
            for line in output.splitlines()]


def theirs(folder, inputs, dtype):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model, info = kind.from_pretrained(folder, output_loading_info=True)
    model.eval().to(dtype)
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[problem], (problem, info[problem])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    answers = []
    for line in inputs:
        encoded = tokenizer(*line.split("\t"), truncation="longest_first",
                            return_tensors="pt")
        with torch.no_grad():
            output = model(**encoded)
        logits = output.get("logits", output.get("prediction_logits"))
        rows = logits[0][encoded["input_ids"][0] == tokenizer.mask_token_id]
        names = tokenizer.convert_ids_to_tokens(range(logits.shape[-1]))
        if not len(rows):
            rows = output["seq_relationship_logits"]
            names = ["follows", "does not follow"]
        answers.append([dict(zip(names, row.softmax(0).tolist()))
                        for row in rows])
    return kind.__name__, answers


def greatest(answers, wanted):
    """Returns the largest difference between two probabilities."""
    return max(abs(a[name] - b[name]) for one, other in zip(answers, wanted)
               for a, b in zip(one, other, strict=True) for name in b)


def main():
    folder, text, copy = sys.argv[1:]
    lines = pathlib.Path(text).read_text("utf-8").splitlines()[:200]
    architecture = json.loads(
        (pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
    inputs = masked(lines, architecture == "BertForPreTraining",
                    random.Random(1))
    got = ours(folder, inputs)
    export(folder, copy)
    failed = False
    for which in (folder, copy):
        kind, floats = theirs(which, inputs, torch.float32)
        assert kind == architecture, (kind, architecture)
        wanted = theirs(which, inputs, torch.float64)[1]
        difference, own = greatest(got, wanted), greatest(floats, wanted)
        failed |= not difference <= max(1e-5, 2 * own)
        print(f"{kind}, {which}: {len(inputs)} texts, difference from doubles "
              f"{difference:.1e}, of its own floats {own:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
