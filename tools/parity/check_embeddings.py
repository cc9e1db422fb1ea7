#!/usr/bin/env python3
"""Compares the embeddings of //tools:embed with sentence-transformers.

Compares a folder, and the same model after an export. sentence-transformers
would not normalize a folder without modules.json. Such a folder is compared
with normalized means of transformers' outputs.

    pip install sentence-transformers torch
    tools/bazel build //tools:{embed,export}
    tools/parity/check_embeddings.py MODEL_FOLDER TEXT_FILE

Reads 500 evenly spaced lines. Exits with 1 if a number differs by more than
1e-5.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from sentence_transformers import SentenceTransformer
import torch
from transformers import AutoModel, AutoTokenizer

from exports import export

LINES = 500
PROGRAM = "bazel-bin/tools/embed"


def transformers_vectors(folder, lines, longest):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, info = AutoModel.from_pretrained(folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[kind], (kind, info[kind])
    model.eval()
    longest = min(longest, tokenizer.model_max_length,
                  model.config.max_position_embeddings)
    vectors = []
    for line in lines:
        inputs = tokenizer(
            line, truncation=True, max_length=longest, padding=False,
            return_tensors="pt")
        with torch.no_grad():
            mean = model(**inputs).last_hidden_state[0].mean(0)
        vectors.append(torch.nn.functional.normalize(mean, dim=0))
    return torch.stack(vectors)


def reference_vectors(folder, lines, longest):
    if not (pathlib.Path(folder) / "modules.json").exists():
        return transformers_vectors(folder, lines, longest)
    return SentenceTransformer(str(folder), device="cpu").encode(
        lines, convert_to_tensor=True)


def our_vectors(folder, lines):
    output = subprocess.run(
        [PROGRAM, f"--model={folder}"], check=True,
        input="\n".join(lines).encode() + b"\n", stdout=subprocess.PIPE).stdout
    return torch.tensor(
        [[float(x) for x in line.split()] for line in output.splitlines()])


def main():
    folder = pathlib.Path(sys.argv[1])
    read = pathlib.Path(sys.argv[2]).read_text("utf-8").split("\n")
    lines = read[::max(1, len(read) // LINES)][:LINES]
    lines += ["", "a " * 1000, "[MASK] \U0001f600 \u4e2d\u6587 e\u0301"]
    longest = 512
    sentence = folder / "sentence_bert_config.json"
    if sentence.exists():
        longest = json.loads(sentence.read_text()).get(
            "max_seq_length", longest)
    wanted = reference_vectors(folder, lines, longest)
    print(f"norms from {wanted.norm(dim=1).min():.3f} to "
          f"{wanted.norm(dim=1).max():.3f}")
    failed = False
    with tempfile.TemporaryDirectory() as copy:
        export(folder, copy)
        got = {
            "vectors": our_vectors(folder, lines),
            "vectors of the copy": our_vectors(copy, lines),
            "the copy by sentence-transformers": reference_vectors(
                copy, lines, longest)}
    for name, vectors in got.items():
        difference = (vectors - wanted).abs().max().item()
        failed |= not difference <= 1e-5
        print(f"{name}: {len(lines)} lines, largest difference {difference}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
