#!/usr/bin/env python3
"""Compares a folder of a GPT-2 with what transformers makes of it: the texts
that follow prompts, the loss of a text, and the folder written by --save.

    pip install transformers torch
    tools/bazel build //tools:generate //tools:evaluate
    tools/parity/check_gpt2.py MODEL_FOLDER TEXT_FILE

Prompts are the beginnings of 50 evenly spaced lines. Exits 1 if a text differs,
the loss by more than 1e-5, or a tensor of the copy at all.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = 50
PROMPT_TOKENS = 12
NEW_TOKENS = 20


def program(name, *arguments):
    return subprocess.run(
        [f"bazel-bin/tools/{name}", *arguments], check=True,
        stdout=subprocess.PIPE).stdout.decode()


def differing_texts(folder, model, tokenizer, lines):
    """Of the continuations that are likeliest."""
    lines = [line for line in lines if line.strip()]
    prompts = []
    for line in lines[::max(1, len(lines) // PROMPTS)][:PROMPTS]:
        ids = tokenizer(line).input_ids[:PROMPT_TOKENS]
        prompts.append(tokenizer.decode(ids).replace("\ufffd", ""))
    differ = 0
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt")
        made = model.generate(
            **ids, do_sample=False, max_new_tokens=NEW_TOKENS,
            pad_token_id=model.config.eos_token_id)
        wanted = prompt + tokenizer.decode(
            made[0, ids.input_ids.shape[1]:], skip_special_tokens=True,
            clean_up_tokenization_spaces=False)
        got = program("generate", f"--model={folder}", "--top_k=1",
                      f"--length={NEW_TOKENS}", "--", prompt)
        if got.removesuffix("\n") != wanted.removesuffix("\n"):
            differ += 1
            print(f"  {prompt!r}: {got!r}, {wanted!r} wanted")
    return len(prompts), differ


def loss_difference(folder, model, tokenizer, path):
    ids = tokenizer(path.read_text("utf-8")).input_ids
    block = model.config.n_positions
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(ids) - 1, block):
            window = torch.tensor(ids[first:first + block + 1])
            logits = model(window[None, :-1]).logits[0]
            total += functional.cross_entropy(
                logits, window[1:], reduction="sum").item()
    metrics = json.loads(program(
        "evaluate", f"--model={folder}", f"--set=data.path={path}", "--json"))
    return abs(metrics["metrics"]["test/loss"] - total / (len(ids) - 1))


def copied(folder, model):
    """Whether a copy has the same tensors, no more and no fewer."""
    with tempfile.TemporaryDirectory() as copy:
        program("generate", f"--model={folder}", f"--save={copy}",
                "--length=0", "--", "a")
        again, info = AutoModelForCausalLM.from_pretrained(
            copy, output_loading_info=True, dtype=torch.float32)
        AutoTokenizer.from_pretrained(copy)
    problems = {key: sorted(value) for key, value in info.items() if value}
    wanted = model.state_dict()
    got = again.state_dict()
    different = [name for name in wanted
                 if not torch.equal(wanted[name], got[name])]
    print(f"copy: {len(got)} tensors, {len(different)} differ, "
          f"problems of loading: {problems or 'none'}")
    return not different and not problems and wanted.keys() == got.keys()


def main():
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    count, differ = differing_texts(
        folder, model, tokenizer, path.read_text("utf-8").splitlines())
    print(f"texts: {count} prompts, {differ} differ")
    difference = loss_difference(folder, model, tokenizer, path)
    print(f"loss: differs by {difference:.2e}")
    right = copied(folder, model)
    return 0 if differ == 0 and difference <= 1e-5 and right else 1


if __name__ == "__main__":
    sys.exit(main())
