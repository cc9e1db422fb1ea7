#!/usr/bin/env python3
"""Writes two small GPT-2 folders and their results, for the tests of
pretrained.

    pip install torch==2.13.0 transformers==5.24.0
    tools/parity/write_gpt2_fixtures.py .

The first folder is as published: tied weights, one file, vocab.json and
merges.txt. The second differs in every option: separate output weights,
bfloat16, several files, and tokenizer.json. See write_fixtures.py.
"""

import copy
import pathlib
import shutil
import sys

import torch
from tokenizers import ByteLevelBPETokenizer
from torch import nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from write_fixtures import Fixture

END = "<|endoftext|>"
CORPUS = [
    "the cat sat on the mat, and the dog sat on the cat.",
    "they're watching the dog's bowl; it'll be 12 or 20 cats.",
    "caf\u00e9, na\u00efve, \u4e2d\u6587, \U0001f600\U0001f600 \u00e9\u00e9\n",
]
PROMPTS = [
    "the cat", " the dog sat", "they're", "caf\u00e9 \u4e2d", "12 cats",
    "\U0001f600", "a", "\n\n the", "na\u00efve, and the mat",
    "it'll be the dog's " * 2, END, END + "the"]
NEW_TOKENS = 20
TEXT = "".join(CORPUS[::-1]) * 4
SEARCH_PROMPTS = [TEXT[7 * i:7 * i + 1 + i % 17] for i in range(50)]
STRIDES = [48, 47, 16, 1]  # 48 is the number of positions
# Fields of Regard's SearchConfig, and the equivalent arguments of generate().
# Beam searches also use early_stopping=False. They use length_penalty=0.0,
# because transformers defines lengths differently.
SEARCHES = {
    "beam: 1 repetition_penalty: 1.3 no_repeat_ngram: 2": {
        "repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    "beam: 1 repetition_penalty: 0.7": {"repetition_penalty": 0.7},
    "beam: 3 length_penalty: 0": {"num_beams": 3},
    "beam: 4 n_best: 4 length_penalty: 0 no_repeat_ngram: 3": {
        "num_beams": 4, "num_return_sequences": 4, "no_repeat_ngram_size": 3},
    "beam: 2 length_penalty: 0 repetition_penalty: 1.5": {
        "num_beams": 2, "repetition_penalty": 1.5},
}


def tokenizer(vocabulary):
    made = ByteLevelBPETokenizer()
    made.train_from_iterator(
        CORPUS * 3, vocab_size=vocabulary, min_frequency=2,
        special_tokens=[END], show_progress=False)
    return made


def random_model(config):
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            # With the usual initial values, all texts would continue in the
            # same way.
            parameter.normal_(std=0.1 if parameter.dim() == 1 else 0.6)
        for part in model.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight.add_(1)
    return model.eval()


def ours(name, tensor):
    """Returns Regard's parameters that a parameter of transformers contains, by
    name."""
    parts = name.removeprefix("transformer.").split(".")
    plain = {"wte": "embedding", "wpe": "position_embedding", "ln_f": "norm",
             "lm_head": "output"}
    if parts[0] != "h":
        return {f"{plain[parts[0]]}.{parts[1]}": tensor}
    of_layer = {"ln_1": "attention_norm", "attn.c_proj": "attention.output",
                "ln_2": "feed_forward_norm", "mlp.c_fc": "feed_forward.input",
                "mlp.c_proj": "feed_forward.output"}
    layer, part, kind = f"layers.{parts[1]}", ".".join(parts[2:-1]), parts[-1]
    if tensor.dim() == 2:
        tensor = tensor.T
    if part != "attn.c_attn":
        return {f"{layer}.{of_layer[part]}.{kind}": tensor}
    return {f"{layer}.attention.{each}.{kind}": piece
            for each, piece in zip(("query", "key", "value"), tensor.chunk(3))}


def expected(model):
    """Hidden states, logits and gradients of a loss, in double precision."""
    fixture = Fixture()
    model = copy.deepcopy(model).double()
    ids = torch.randint(0, model.config.vocab_size, (2, 6))
    output = model(ids, output_hidden_states=True)
    loss = functional.cross_entropy(
        output.logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(),
        reduction="sum")
    loss.backward()
    fixture.add("ids", ids)
    for i, hidden in enumerate(output.hidden_states[1:]):
        fixture.add(f"hidden.{i}", hidden)
    fixture.add("logits", output.logits)
    fixture.add("loss", loss)
    for name, parameter in model.named_parameters():
        for own, grad in ours(name, parameter.grad).items():
            fixture.add("grad." + own, grad)
    return fixture


def greedy(model, encode):
    """Returns a line for each prompt: the ids that follow it."""
    lines = []
    for prompt in PROMPTS:
        ids = torch.tensor([encode(prompt)])
        made = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False,
            max_new_tokens=NEW_TOKENS, pad_token_id=0)
        lines.append(" ".join(str(x) for x in made[0, ids.shape[1]:].tolist()))
    return "\n".join(lines) + "\n"


def searches(model, encode):
    """Returns the fields of each search, followed by a line for each text of
    each prompt: the ids after the prompt."""
    end = model.config.eos_token_id
    lines = []
    for fields, arguments in SEARCHES.items():
        lines.append(fields)
        for prompt in SEARCH_PROMPTS:
            ids = torch.tensor([encode(prompt)])
            beams = {} if "num_beams" not in arguments else {
                "early_stopping": False, "length_penalty": 0.0}
            for row in model.generate(
                    ids, attention_mask=torch.ones_like(ids), do_sample=False,
                    max_new_tokens=NEW_TOKENS, pad_token_id=0, **arguments,
                    **beams):
                made = row[ids.shape[1]:].tolist()
                if end in made:
                    made = made[:made.index(end) + 1]
                lines.append(" ".join(str(x) for x in made))
    return "\n".join(lines) + "\n"


def mean_loss(model, ids, stride):
    """Returns the loss of a text in nats per token, in double precision.
    Windows of all positions start `stride` apart. Each predicts the tokens that
    no earlier window has predicted.
    """
    model = copy.deepcopy(model).double()
    block = model.config.n_positions
    total = 0.0
    done = 0
    for first in range(0, len(ids) - 1, stride):
        if done == len(ids) - 1:
            break
        window = torch.tensor(ids[first:first + block + 1])
        with torch.no_grad():
            losses = functional.cross_entropy(
                model(window[None, :-1]).logits[0], window[1:],
                reduction="none")
        total += losses[done - first:].sum().item()
        done = first + len(window) - 1
    return total / (len(ids) - 1)


def write(folder, vocabulary, published, **sizes):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = tokenizer(vocabulary)
    end = made.token_to_id(END)
    model = random_model(GPT2Config(
        vocab_size=made.get_vocab_size(), n_positions=48, bos_token_id=end,
        eos_token_id=end, **sizes))
    if published:
        made.save_model(str(folder))
        model.save_pretrained(folder)
    else:
        made.save(str(folder / "tokenizer.json"), pretty=False)
        model.to(torch.bfloat16).save_pretrained(
            folder, max_shard_size="6KB")
        model = GPT2LMHeadModel.from_pretrained(
            folder, dtype=torch.float32).eval()
    (folder / "generation_config.json").unlink(missing_ok=True)
    for path in folder.iterdir():
        path.chmod(0o644)
    expected(model).write(folder / "expected.txt")
    (folder / "prompts.txt").write_text(
        "".join(prompt.replace("\n", "\\n") + "\n" for prompt in PROMPTS))
    (folder / "greedy.txt").write_text(
        greedy(model, lambda text: made.encode(text).ids))
    (folder / "search_prompts.txt").write_text("".join(
        prompt.replace("\n", "\\n") + "\n" for prompt in SEARCH_PROMPTS))
    (folder / "searches.txt").write_text(
        searches(model, lambda text: made.encode(text).ids))
    (folder / "text.txt").write_text(TEXT)
    ids = made.encode(TEXT).ids
    (folder / "text_loss.txt").write_text("".join(
        f"{stride} {mean_loss(model, ids, stride)}\n"
        for stride in STRIDES))


def main():
    folder = pathlib.Path(sys.argv[1]) / "pretrained/testdata"
    torch.manual_seed(1)
    write(folder / "gpt2", 290, True, n_embd=8, n_layer=2, n_head=2)
    torch.manual_seed(2)
    write(folder / "gpt2_untied", 275, False, n_embd=9, n_layer=3, n_head=3,
          n_inner=10, activation_function="gelu", layer_norm_epsilon=1e-3,
          tie_word_embeddings=False)


if __name__ == "__main__":
    main()
