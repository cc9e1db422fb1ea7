#!/usr/bin/env python3
"""Compares the probabilities of //tools:predict with transformers.

The model is a BertForSequenceClassification, and a copy that export writes.

    pip install torch transformers
    tools/bazel build //tools:{export,predict}
    tools/parity/check_classes.py MODEL_FOLDER FILE.tsv COPY

Lines are CLASS<TAB>TEXT or CLASS<TAB>TEXT<TAB>TEXT. Exits with 1 if a
probability differs by more than 1e-5.
"""

import json
import pathlib
import subprocess
import sys

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

from exports import export


def ours(folder, inputs):
    output = subprocess.run(
        ["bazel-bin/tools/predict", f"--run={folder}", "--json",
         "--top=1000000"], check=True,
        input="".join(line + "\n" for line in inputs).encode(),
        stdout=subprocess.PIPE).stdout
    return [{choice["name"]: choice["probability"]
             for choice in json.loads(line)["choices"][0]}
            for line in output.splitlines()]


def theirs(folder, inputs):
    model, info = BertForSequenceClassification.from_pretrained(
        folder, output_loading_info=True)
    model.eval()
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[kind], (kind, info[kind])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = []
    for line in inputs:
        encoded = tokenizer(*line.split("\t"), truncation="longest_first",
                            return_tensors="pt")
        with torch.no_grad():
            row = model(**encoded).logits[0].softmax(0)
        answers.append({model.config.id2label[i]: float(x)
                        for i, x in enumerate(row)})
    return answers


def main():
    folder, file, copy = sys.argv[1:]
    inputs = [line.partition("\t")[2]
              for line in pathlib.Path(file).read_text("utf-8").splitlines()]
    export(folder, copy)
    got = ours(folder, inputs)
    failed = False
    for name, wanted in [("transformers", theirs(folder, inputs)),
                         ("the copy in transformers", theirs(copy, inputs))]:
        if [*map(set, got)] != [*map(set, wanted)]:
            print(f"{name}: other classes")
            return 1
        difference = max(abs(a[key] - b[key])
                         for a, b in zip(got, wanted) for key in a)
        failed |= not difference <= 1e-5
        print(f"{name}: {len(inputs)} inputs, difference {difference:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
