#!/usr/bin/env python3
"""Compares a GPT-2 folder with transformers.

Compares continuations of prompts, the loss of a text, and the folder that
export writes.

    pip install transformers torch
    tools/bazel build //tools:{evaluate,export,generate}
    tools/parity/check_gpt2.py MODEL_FOLDER TEXT_FILE

Prompts are the beginnings of 50 evenly spaced lines, continued by each of
SEARCHES. Length penalties are not compared, because the libraries define
lengths differently. Exits with 1 if a text differs, if the loss differs by more
than 1e-5, or if a tensor of the copy differs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from exports import export
from write_gpt2_fixtures import mean_loss

PROMPTS = 50
PROMPT_TOKENS = 12
NEW_TOKENS = 20
BEAMS = {"early_stopping": False, "length_penalty": 0.0}
# Flags of Regard, and the equivalent arguments of generate().
SEARCHES = {
    "--top_k=1": {},
    "--beam=1 --repetition_penalty=1.3 --no_repeat_ngram=2": {
        "repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    "--beam=3 --length_penalty=0": {"num_beams": 3, **BEAMS},
    "--beam=4 --length_penalty=0 --repetition_penalty=1.2 --no_repeat_ngram=3":
        {"num_beams": 4, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3,
         **BEAMS},
}
STRIDES = ["", "--stride=512", "--stride=17"]


def program(name, *arguments):
    return subprocess.run(
        [f"bazel-bin/tools/{name}", *arguments], check=True,
        stdout=subprocess.PIPE).stdout.decode()


def prompts_of(lines, tokenizer):
    lines = [line for line in lines if line.strip()]
    for line in lines[::max(1, len(lines) // PROMPTS)][:PROMPTS]:
        ids = tokenizer(line).input_ids[:PROMPT_TOKENS]
        yield tokenizer.decode(ids).replace("\ufffd", "")


def differing_texts(folder, model, tokenizer, prompts, flags):
    differ = 0
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt")
        made = model.generate(
            **ids, do_sample=False, max_new_tokens=NEW_TOKENS,
            pad_token_id=model.config.eos_token_id, **SEARCHES[flags])
        wanted = prompt + tokenizer.decode(
            made[0, ids.input_ids.shape[1]:], skip_special_tokens=True,
            clean_up_tokenization_spaces=False)
        got = program("generate", f"--model={folder}", *flags.split(),
                      f"--length={NEW_TOKENS}", "--", prompt)
        if got.removesuffix("\n") != wanted.removesuffix("\n"):
            differ += 1
            print(f"  {flags}, {prompt!r}: {got!r}, {wanted!r} wanted")
    return differ


def loss_difference(folder, model, tokenizer, path, flags):
    ids = tokenizer(path.read_text("utf-8")).input_ids
    block = model.config.n_positions
    stride = min(block, int(flags.removeprefix("--stride=") or block))
    metrics = json.loads(program(
        "evaluate", f"--model={folder}", f"--text={path}", "--json",
        *([f"--stride={stride}"] if flags else [])))
    return abs(metrics["metrics"]["test/loss"] - mean_loss(model, ids, stride))


def copied(folder, model):
    """Whether a copy has exactly the same tensors."""
    with tempfile.TemporaryDirectory() as copy:
        export(folder, copy)
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
    prompts = list(prompts_of(
        path.read_text("utf-8").splitlines(), tokenizer))
    right = True
    for flags in SEARCHES:
        differ = differing_texts(folder, model, tokenizer, prompts, flags)
        print(f"{flags}: {len(prompts)} prompts, {differ} differ")
        right = right and differ == 0
    for flags in STRIDES:
        difference = loss_difference(folder, model, tokenizer, path, flags)
        print(f"loss {flags}: differs by {difference:.2e}")
        right = right and difference <= 1e-5
    right = copied(folder, model) and right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
