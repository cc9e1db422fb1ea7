"""Continuation of texts by a GPT-2 in PyTorch.

The idiomatic form uses the model and the search of transformers. In the tuned
form, the projections of queries, keys and values are one matrix product. Keys
and values are cached in full length from the start.
"""

import functools

import step_data
import torch
import transformers
from torch import nn
from torch.nn import functional
from torch_transformers import (
    Cache,
    embedding,
    empty_cache,
    made,
    norm,
    stack,
)

_GELU = functools.partial(functional.gelu, approximate="tanh")

# Names of parts in Regard, and their names in transformers. Regard stores the
# parts in _TRANSPOSED transposed.
_KEPT = {"attention_norm": "ln_1", "feed_forward_norm": "ln_2"}
_TRANSPOSED = {"attention.output": "attn.c_proj",
               "feed_forward.input": "mlp.c_fc",
               "feed_forward.output": "mlp.c_proj"}


def _transposed(x):
    return x.T.contiguous() if x.dim() == 2 else x


def _published_weights(work, weights):
    found = {"wte.weight": weights["embedding.weight"],
             "wpe.weight": weights["position_embedding.weight"],
             "ln_f.weight": weights["norm.weight"],
             "ln_f.bias": weights["norm.bias"]}
    for i in range(work.layers):
        for kind in ("weight", "bias"):
            def part(name, kind=kind, i=i):
                return weights[f"layers.{i}.{name}.{kind}"]

            for ours, theirs in _KEPT.items():
                found[f"h.{i}.{theirs}.{kind}"] = part(ours)
            for ours, theirs in _TRANSPOSED.items():
                found[f"h.{i}.{theirs}.{kind}"] = _transposed(part(ours))
            found[f"h.{i}.attn.c_attn.{kind}"] = _transposed(torch.cat(
                [part(f"attention.{name}")
                 for name in ("query", "key", "value")]))
    return found


class Published:
    """The model of transformers and its generate()."""

    def __init__(self, work, weights):
        self.length = work.target_time
        config = transformers.GPT2Config(
            vocab_size=work.target_vocabulary, n_embd=work.hidden,
            n_layer=work.layers, n_head=work.heads,
            n_inner=work.feed_forward, n_positions=1024,
            bos_token_id=None, eos_token_id=None)
        self.model = transformers.GPT2LMHeadModel(config)
        self.model.transformer.load_state_dict(
            _published_weights(work, weights), assign=True)
        self.model.tie_weights()
        self.model.eval()
        self.prompts = torch.from_numpy(step_data.prompts(work))

    def search(self):
        found = self.model.generate(
            self.prompts, attention_mask=torch.ones_like(self.prompts),
            max_new_tokens=self.length, do_sample=False, use_cache=True,
            pad_token_id=0)
        return found[:, -self.length:].T


class Tuned(nn.Module):
    """Has no padding masks, because all prompts have the same length."""

    def __init__(self, work, weights):
        super().__init__()
        self.work = work
        self.embedding = embedding(weights["embedding.weight"])
        self.position_embedding = embedding(
            weights["position_embedding.weight"])
        self.layers = stack(weights, "", work, tuned=True, pre=True,
                            activation=_GELU)
        self.norm = made(norm, weights, "norm")
        self.prompts = torch.from_numpy(step_data.prompts(work))
        self.positions = torch.arange(work.source_time + work.target_time)

    def step(self, ids, at, past):
        """Reads ids [B, n] at positions [n]. Returns the next ids, [B].

        `past` contains the keys and values of each layer, and is changed in
        place.
        """
        mask = self.positions <= at.unsqueeze(1)
        x = self.embedding(ids) + self.position_embedding(at)
        for layer, (keys, values) in zip(self.layers, past):
            x = layer(x, cache=Cache(keys, values, at, mask))
        logits = functional.linear(self.norm(x[:, -1]), self.embedding.weight)
        return logits.argmax(-1)

    def search(self):
        time, length = self.work.source_time, self.work.target_time
        shape = (self.work.batch, self.work.heads, time + length,
                 self.work.hidden // self.work.heads)
        past = empty_cache(shape, len(self.layers))
        found = [self.step(self.prompts, self.positions[:time], past)]
        for i in range(time, time + length - 1):
            found.append(self.step(found[-1].unsqueeze(1),
                                   self.positions[i:i + 1], past))
        return torch.stack(found)


def make(work, weights, tuned):
    """Returns a model with search() -> ids [target_time, B]."""
    tensors = {name: torch.from_numpy(value)
               for name, value in weights.items()}
    return (Tuned if tuned else Published)(work, tensors)


class Exported(nn.Module):
    """A step for ONNX: ids [B, n], and the keys and values of each layer.

    Returns the most probable ids [B, 1], and the extended keys and values.
    """

    def __init__(self, work, weights, tuned):
        super().__init__()
        tensors = {name: torch.from_numpy(value)
                   for name, value in weights.items()}
        self.embedding = embedding(tensors["embedding.weight"])
        self.position_embedding = embedding(
            tensors["position_embedding.weight"])
        self.layers = stack(tensors, "", work, tuned, pre=True,
                            activation=_GELU)
        self.norm = made(norm, tensors, "norm")

    def forward(self, ids, *past):
        before = past[0].shape[2]
        at = torch.arange(before, before + ids.shape[1])
        mask = torch.arange(before + ids.shape[1]) <= at.unsqueeze(1)
        x = self.embedding(ids) + self.position_embedding(at)
        caches = [Cache(keys, values, None, mask)
                  for keys, values in zip(past[::2], past[1::2])]
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache=cache)
        logits = functional.linear(self.norm(x[:, -1]), self.embedding.weight)
        kept = [part for cache in caches for part in (cache.keys, cache.values)]
        return (logits.argmax(-1, keepdim=True), *kept)
