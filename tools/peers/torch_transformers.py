"""Transformers in PyTorch: encoder and decoder, text, generation, images.

Attention is scaled_dot_product_attention. In the idiomatic form, each
projection is a layer, and cached keys are concatenated. In the tuned form, the
projections of one input are one matrix product, and the cache has its full
length from the start.
"""

import math

import step_data
import torch
import works
from torch import nn
from torch.nn import functional


def linear(weight, bias=None):
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def embedding(weight):
    return nn.Embedding.from_pretrained(weight.clone(), freeze=False)


def norm(weight, bias=None):
    layer = nn.LayerNorm(weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def made(make, weights, name):
    return make(weights[f"{name}.weight"], weights.get(f"{name}.bias"))


class Attention(nn.Module):
    """Multi-head attention. `cross` means attention to a memory."""

    def __init__(self, weights, name, heads, tuned, cross):
        super().__init__()
        self.heads = heads
        parts = (("query", "key", "value"),)
        if not tuned:
            parts = (("query",), ("key",), ("value",))
        elif cross:
            parts = (("query",), ("key", "value"))
        self.sizes = [len(group) for group in parts]

        def joined(kind, group):
            found = [weights[f"{name}.{part}.{kind}"] for part in group
                     if f"{name}.{part}.{kind}" in weights]
            return torch.cat(found) if found else None

        self.inputs = nn.ModuleList(
            linear(joined("weight", group), joined("bias", group))
            for group in parts)
        self.output = made(linear, weights, f"{name}.output")

    def _project(self, x, groups):
        """Returns the projections `groups` of x, [B, heads, T, width] each."""
        found = []
        for i in groups:
            found += self.inputs[i](x).chunk(self.sizes[i], dim=-1)
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for part in found]

    def prepare(self, memory):
        """Returns keys and values for cross-attention."""
        return self._project(memory, range(1, len(self.inputs)))

    def forward(self, x, memory=None, causal=False, cache=None, mask=None):
        """Computes attention.

        `cache` stores new keys and values, and returns all of them and a mask.
        `memory` may be a result of prepare().
        """
        if memory is None:
            q, k, v = self._project(x, range(len(self.inputs)))
        else:
            q, = self._project(x, range(1))
            k, v = (memory if isinstance(memory, list)
                    else self.prepare(memory))
        if cache is not None:
            k, v, mask = cache(k, v)
        context = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal)
        return self.output(context.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """norm(x + f(x)) or, with `pre`, x + f(norm(x))."""

    def __init__(self, weights, name, heads, tuned, pre, activation):
        super().__init__()
        self.pre, self.activation = pre, activation
        self.attention = Attention(weights, f"{name}.attention", heads, tuned,
                                   cross=False)
        self.attention_norm = made(norm, weights, f"{name}.attention_norm")
        self.cross = None
        if f"{name}.cross_attention.query.weight" in weights:
            self.cross = Attention(weights, f"{name}.cross_attention", heads,
                                   tuned, cross=True)
            self.cross_norm = made(norm, weights,
                                    f"{name}.cross_attention_norm")
        self.hidden = made(linear, weights, f"{name}.feed_forward.input")
        self.output = made(linear, weights, f"{name}.feed_forward.output")
        self.output_norm = made(norm, weights, f"{name}.feed_forward_norm")

    def feed_forward(self, x):
        return self.output(self.activation(self.hidden(x)))

    def forward(self, x, memory=None, causal=False, cache=None, mask=None):
        """`mask` masks positions of x, or of the memory if there is one."""
        if self.pre:
            x = x + self.attention(self.attention_norm(x), causal=causal,
                                   cache=cache)
            return x + self.feed_forward(self.output_norm(x))
        own = mask if memory is None else None
        x = self.attention_norm(x + self.attention(x, causal=causal, mask=own))
        if self.cross is not None:
            x = self.cross_norm(x + self.cross(x, memory, mask=mask))
        return self.output_norm(x + self.feed_forward(x))


def stack(weights, prefix, work, tuned, pre, activation):
    return nn.ModuleList(
        Layer(weights, f"{prefix}layers.{i}", work.heads, tuned, pre,
              activation)
        for i in range(work.layers))


class Translator(nn.Module):
    """Encoder and decoder as published, with sinusoidal positions."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        self.scale = math.sqrt(work.hidden)
        self.source_embedding = embedding(weights["encoder.embedding.weight"])
        self.target_embedding = embedding(weights["decoder.embedding.weight"])
        self.encoder, self.decoder = (
            stack(weights, prefix, work, tuned, pre=False,
                  activation=functional.relu)
            for prefix in ("encoder.", "decoder."))
        self.output = made(linear, weights, "decoder.output")
        self.positions = torch.from_numpy(step_data.sinusoids(
            max(work.source_time, work.target_time), work.hidden))
        self.source, self.target_input, self.target = (
            torch.from_numpy(ids) for ids in step_data.sentences(work))
        self.mask = None
        if work.ragged:
            self.mask = (self.source != step_data.PAD)[:, None, None]
        # Target positions that are not padding. The tuned form predicts only
        # these.
        self.valid = None
        if work.ragged and tuned:
            self.valid = (self.target != step_data.PAD).flatten().nonzero()[:, 0]

    def _embed(self, embedding, ids):
        return embedding(ids) * self.scale + self.positions[:ids.shape[1]]

    def encode(self):
        memory = self._embed(self.source_embedding, self.source)
        for layer in self.encoder:
            memory = layer(memory, mask=self.mask)
        return memory

    def forward(self):
        memory = self.encode()
        x = self._embed(self.target_embedding, self.target_input)
        for layer in self.decoder:
            x = layer(x, memory, causal=True, mask=self.mask)
        x, target = x.flatten(0, 1), self.target.flatten()
        if self.valid is not None:
            x, target = x[self.valid], target[self.valid]
        return functional.cross_entropy(self.output(x), target,
                                        ignore_index=step_data.PAD)


def empty_cache(shape, layers):
    """Returns zeros for the keys and values of each layer.

    They have the type of products, which autocast changes.
    """
    dtype = (torch.get_autocast_dtype("cpu")
             if torch.is_autocast_enabled("cpu") else torch.float32)
    return [(torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype))
            for _ in range(layers)]


class Cache:
    """Keys and values of a layer, [B, heads, T, width].

    Without a position, a step appends its keys and values. With a position, a
    step writes them at this position, and a mask excludes later positions.
    """

    def __init__(self, keys, values, position, mask):
        self.keys, self.values = keys, values
        self.position, self.mask = position, mask

    def __call__(self, keys, values):
        if self.position is None:
            self.keys = torch.cat((self.keys, keys), dim=2)
            self.values = torch.cat((self.values, values), dim=2)
        else:
            self.keys.index_copy_(2, self.position, keys)
            self.values.index_copy_(2, self.position, values)
        return self.keys, self.values, self.mask


class LanguageModel(nn.Module):
    """nanoGPT's model: pre-norm, learned positions, a tied head, no biases."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        self.work, self.tuned = work, tuned
        self.embedding = embedding(weights["embedding.weight"])
        self.position_embedding = embedding(
            weights["position_embedding.weight"])
        self.layers = stack(weights, "", work, tuned, pre=True,
                            activation=functional.gelu)
        self.norm = made(norm, weights, "norm")
        self.input, self.target = (
            torch.from_numpy(ids) for ids in step_data.blocks(work))
        self.prompt = torch.from_numpy(
            step_data.text(work.batch, work.target_vocabulary))
        self.positions = torch.arange(work.target_time)

    def _logits(self, ids, positions, causal, caches):
        x = self.embedding(ids) + self.position_embedding(positions)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, causal=causal, cache=cache)
        return functional.linear(self.norm(x), self.embedding.weight)

    def forward(self):
        logits = self._logits(self.input, self.positions, True,
                              [None] * len(self.layers))
        return functional.cross_entropy(logits.flatten(0, 1),
                                        self.target.flatten())

    def step(self, ids, position, past):
        """Reads an id. Returns the next id with its log probability.

        `past` contains the keys and values of each layer. Also returns the new
        keys and values.
        """
        at = mask = None
        if self.tuned:
            at, mask = position, (self.positions <= position).unsqueeze(0)
        caches = [Cache(*of_layer, at, mask) for of_layer in past]
        logits = self._logits(ids.unsqueeze(1), position, False, caches)
        best, ids = functional.log_softmax(logits[:, 0], dim=-1).max(-1)
        return best, ids, [(cache.keys, cache.values) for cache in caches]

    @torch.no_grad()
    def search(self, beam):
        """Returns the log probability of the generated texts, [B]."""
        del beam  # always 1
        total, ids = torch.zeros(self.work.batch), self.prompt
        steps = self.work.target_time
        shape = (self.work.batch, self.work.heads, steps if self.tuned else 0,
                 self.work.hidden // self.work.heads)
        past = empty_cache(shape, len(self.layers))
        for time in range(steps):
            best, ids, past = self.step(ids, self.positions[time:time + 1],
                                        past)
            total += best
        return total


class ImageClassifier(nn.Module):
    """A Vision Transformer: pre-norm, a class token, learned positions."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        self.patch, self.tuned = work.patch, tuned
        self.patches = made(linear, weights, "encoder.patch_embedding")
        self.class_token = nn.Parameter(weights["encoder.class_token"])
        self.positions = nn.Parameter(
            weights["encoder.position_embedding.weight"])
        self.layers = stack(weights, "encoder.", work, tuned, pre=True,
                            activation=functional.gelu)
        self.norm = made(norm, weights, "encoder.norm")
        self.head = made(linear, weights, "head")
        self.pixels, self.labels = (
            torch.from_numpy(a) for a in step_data.images(work))

    def _embed(self, images):
        """[B, channels, side, side] -> [B, patches, width]."""
        p = self.patch
        if self.tuned:
            cut = images.unflatten(3, (-1, p)).unflatten(2, (-1, p))
            cut = cut.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
            return self.patches(cut)
        kernel = self.patches.weight.view(-1, images.shape[1], p, p)
        return functional.conv2d(images, kernel, self.patches.bias,
                                 stride=p).flatten(2).transpose(1, 2)

    def logits_of(self, pixels):
        x = self._embed(pixels / 127.5 - 1)
        token = self.class_token.expand(x.shape[0], 1, -1)
        x = torch.cat((token, x), dim=1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))

    def forward(self):
        return functional.cross_entropy(self.logits_of(self.pixels.float()),
                                        self.labels)


def make(work, weights, tuned):
    """Returns the model of a workload, or None if another module has it."""
    kinds = {works.TRANSFORMER: Translator,
             works.LANGUAGE_MODEL: LanguageModel,
             works.GENERATION: LanguageModel,
             works.IMAGE: ImageClassifier}
    if work.kind not in kinds:
        return None
    tensors = {name: torch.from_numpy(value)
               for name, value in weights.items()}
    return kinds[work.kind](work, tensors, tuned)
