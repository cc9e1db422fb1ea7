#!/usr/bin/env python3
"""Writes reference results of PyTorch for the tests of optimization and
attention.

    pip install torch==2.13.0 numpy
    tools/parity/write_fixtures.py .

Only this script needs PyTorch; the tests read its files. Each file is a list of
named arrays, one per line: name, rank, extents and elements, separated by
spaces. Elements have enough digits to be read back exactly.
"""

import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional


class Fixture:
    """Named arrays in the order in which they were added."""

    def __init__(self):
        self.lines = []

    def add(self, name, array):
        array = torch.as_tensor(array).detach()
        numbers = [str(array.dim())] + [str(extent) for extent in array.shape]
        numbers += [repr(float(x)) for x in array.flatten().tolist()]
        self.lines.append(" ".join([name] + numbers))

    def add_gradients(self, module):
        for name, parameter in module.named_parameters():
            self.add("value." + name, parameter)
            self.add("grad." + name, parameter.grad)

    def write(self, path):
        path.write_text("\n".join(self.lines) + "\n")


def project(fixture, name, output):
    """Adds `output` and random weights for it. Returns their inner product."""
    weights = torch.randn(output.shape)
    fixture.add(name, output)
    fixture.add(name + ".weights", weights)
    return (output * weights).sum()


def linear():
    fixture = Fixture()
    module = nn.Linear(5, 3)
    x = torch.randn(2, 4, 5, requires_grad=True)
    project(fixture, "y", module(x)).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    fixture.add_gradients(module)
    return fixture


def embedding():
    fixture = Fixture()
    module = nn.Embedding(7, 3)
    ids = torch.tensor([[1, 1, 6], [0, 5, 1]])
    project(fixture, "y", module(ids)).backward()
    fixture.add("ids", ids)
    fixture.add_gradients(module)
    return fixture


def layer_norm():
    fixture = Fixture()
    module = nn.LayerNorm(6, eps=1e-5)
    with torch.no_grad():
        module.weight.normal_()
        module.bias.normal_()
    x = torch.randn(4, 6, requires_grad=True)
    project(fixture, "y", module(x)).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    fixture.add_gradients(module)
    return fixture


def cross_entropy(smoothing):
    fixture = Fixture()
    logits = torch.randn(5, 7, requires_grad=True)
    labels = torch.tensor([3, 0, 6, 2, 2])
    padding = 2  # ignored by the loss
    loss = functional.cross_entropy(
        logits, labels, ignore_index=padding, reduction="sum",
        label_smoothing=smoothing)
    loss.backward()
    fixture.add("smoothing", torch.tensor(smoothing))
    fixture.add("logits", logits)
    fixture.add("labels", labels)
    fixture.add("padding", torch.tensor(padding))
    fixture.add("loss", loss)
    fixture.add("grad.logits", logits.grad)
    return fixture


def recurrent(kind):
    """Two layers in both directions, for sequences of 4, 1 and 3 positions."""
    fixture = Fixture()
    module = kind(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    x = torch.randn(3, 4, 3, requires_grad=True)
    lengths = torch.tensor([4, 1, 3])
    packed = nn.utils.rnn.pack_padded_sequence(
        x, lengths, batch_first=True, enforce_sorted=False)
    packed_output, final = module(packed)
    output, _ = nn.utils.rnn.pad_packed_sequence(
        packed_output, batch_first=True, total_length=4)
    total = project(fixture, "sequence", output)
    # [layers, directions, batch, width].
    hidden, cell = final if isinstance(final, tuple) else (final, None)
    total = total + project(fixture, "hidden", hidden.reshape(2, 2, 3, 4))
    if cell is not None:
        total = total + project(fixture, "cell", cell.reshape(2, 2, 3, 4))
    total.backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    fixture.add("lengths", lengths)
    fixture.add_gradients(module)
    return fixture


def multi_head(key_width, value_width, causal):
    """Attention of two heads: 4 queries and 5 keys, of which 3 and 5 are valid.
    With `causal`, the queries and keys are the same 4 positions, of which 3 and
    4 are valid, and the attention weights are omitted.
    """
    fixture = Fixture()
    module = nn.MultiheadAttention(
        6, 2, kdim=key_width, vdim=value_width, batch_first=True)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "bias" in name:
                parameter.normal_()
    query = torch.randn(2, 4, 6, requires_grad=True)
    key, value = query, query
    if not causal:
        key = torch.randn(2, 5, key_width, requires_grad=True)
        value = torch.randn(2, 5, value_width, requires_grad=True)
    keys = key.shape[1]
    lengths = torch.tensor([3, keys])
    hidden = torch.arange(keys) >= lengths[:, None]
    later = torch.ones(4, 4, dtype=torch.bool).triu(1) if causal else None
    output, weights = module(
        query, key, value, key_padding_mask=hidden, attn_mask=later,
        average_attn_weights=False)
    total = project(fixture, "output", output)
    if not causal:
        total = total + project(fixture, "weights", weights)
    total.backward()
    fixture.add("lengths", lengths)
    for name, x in {"query": query, "key": key, "value": value}.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)
    # If all widths are equal, the three weights are one parameter.
    parts = ["query", "key", "value"]
    biases = zip(module.in_proj_bias.chunk(3), module.in_proj_bias.grad.chunk(3))
    if causal:
        weights = zip(
            module.in_proj_weight.chunk(3), module.in_proj_weight.grad.chunk(3))
    else:
        weights = [
            (part, part.grad) for part in
            (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)]
    for name, weight, bias in zip(parts, weights, biases):
        for kind, (parameter, grad) in {"weight": weight, "bias": bias}.items():
            fixture.add(f"value.{name}.{kind}", parameter)
            fixture.add(f"grad.{name}.{kind}", grad)
    for kind, parameter in module.out_proj.named_parameters():
        fixture.add(f"value.output.{kind}", parameter)
        fixture.add(f"grad.output.{kind}", parameter.grad)
    return fixture


def relative(of_keys):
    """Scores of 3 queries from position 2 and 5 keys from position 0, with an
    embedding for each distance, as in BERT."""
    fixture = Fixture()
    width, max_position = 4, 6
    query = torch.randn(2, 2, 3, width, requires_grad=True)
    key = torch.randn(2, 2, 5, width, requires_grad=True)
    embedding = torch.randn(2 * max_position - 1, width, requires_grad=True)
    distance = torch.arange(2, 5)[:, None] - torch.arange(5)
    position = embedding[distance + max_position - 1]
    scores = query @ key.transpose(2, 3)
    scores = scores + torch.einsum("bhld,lrd->bhlr", query, position)
    if of_keys:
        scores = scores + torch.einsum("bhrd,lrd->bhlr", key, position)
    project(fixture, "scores", scores / width**0.5).backward()
    arrays = {"query": query, "key": key, "embedding": embedding}
    for name, x in arrays.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)
    return fixture


def score(compare, query_width, key_width, **shapes):
    """Scores of three queries and five keys. Lengths differ by query."""
    fixture = Fixture()
    parameters = {
        name: torch.randn(shape, requires_grad=True)
        for name, shape in shapes.items()}
    queries = torch.randn(2, 1, 3, query_width, requires_grad=True)
    keys = torch.randn(2, 1, 5, key_width, requires_grad=True)
    values = torch.randn(2, 1, 5, 2, requires_grad=True)
    lengths = torch.tensor([[5, 1, 3], [2, 4, 2]])
    hidden = torch.arange(5) >= lengths[:, None, :, None]
    scores = compare(queries, keys, **parameters)
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    total = project(fixture, "context", weights @ values)
    total = total + project(fixture, "attention", weights)
    total.backward()
    fixture.add("lengths", lengths)
    inputs = {"queries": queries, "keys": keys, "values": values}
    for name, x in inputs.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)
    for name, x in parameters.items():
        fixture.add("value." + name, x)
        fixture.add("grad." + name, x.grad)
    return fixture


def additive(queries, keys, w_q, w_k, w_v, bias=None):
    hidden = (queries @ w_q.mT)[..., None, :] + (keys @ w_k.mT)[..., None, :, :]
    if bias is not None:
        hidden = hidden + bias
    return (hidden.tanh() * w_v).sum(-1)


def scaled_dot(queries, keys):
    return queries @ keys.mT / queries.shape[-1] ** 0.5


def bilinear(queries, keys, w):
    return queries @ w @ keys.mT


def rotate(x, positions, interleaved, base=10000.0):
    """Rotary embedding of x [.., time, width], by complex numbers."""
    half = x.shape[-1] // 2
    frequencies = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = positions[:, None].double() * frequencies
    turn = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    if interleaved:
        pairs = torch.view_as_complex(x.unflatten(-1, (half, 2)).contiguous())
        return torch.view_as_real(pairs * turn).flatten(-2)
    pairs = torch.complex(x[..., :half], x[..., half:]) * turn
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def alibi_slopes(heads):
    """The slopes of the authors' code, for a power of two."""
    return 2.0 ** (-8.0 / heads * torch.arange(1, heads + 1))


def attention(key_heads=4, rotary=None, alibi=False, window=0, causal=False):
    """scaled_dot_product_attention of 4 heads, with 3 queries from position 2
    on 5 keys from position 0."""
    fixture = Fixture()
    queries = torch.randn(2, 4, 3, 4, requires_grad=True)
    keys = torch.randn(2, key_heads, 5, 4, requires_grad=True)
    values = torch.randn(2, key_heads, 5, 3, requires_grad=True)
    at_query, at_key = torch.arange(2, 5), torch.arange(5)
    distance = at_query[:, None] - at_key
    mask = torch.zeros(4, 3, 5)
    if alibi:
        mask = mask - alibi_slopes(4)[:, None, None] * distance.abs()
    hidden = torch.zeros(3, 5, dtype=torch.bool)
    if causal:
        hidden |= distance < 0
    if window:
        hidden |= distance.abs() >= window
    mask = mask.masked_fill(hidden, float("-inf"))
    turned = [queries, keys]
    if rotary:
        turned = [rotate(queries, at_query, rotary == "interleaved"),
                  rotate(keys, at_key, rotary == "interleaved")]
    context = functional.scaled_dot_product_attention(
        *turned, values, attn_mask=mask, enable_gqa=key_heads < 4)
    project(fixture, "context", context).backward()
    inputs = {"queries": queries, "keys": keys, "values": values}
    for name, x in inputs.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)
    return fixture


def block_attention(together):
    """Causal attention to three of eight blocks of two keys.

    There are 4 heads of 14 queries from position 2 on, and 2 heads of 16 keys.
    By default, selects blocks like moba_naive.py of the authors of MoBA, with
    the query's own block as one of three. With `together`, selects blocks like
    NSA with means as compressed keys. It then selects four blocks by the
    softmax summed over the heads that share keys, including the first block and
    the last two.
    """
    fixture = Fixture()
    queries = torch.randn(2, 4, 14, 4, requires_grad=True)
    keys = torch.randn(2, 2, 16, 4, requires_grad=True)
    values = torch.randn(2, 2, 16, 3, requires_grad=True)
    inputs = {"queries": queries, "keys": keys, "values": values}
    at_query, at_key, block = torch.arange(2, 16), torch.arange(16), torch.arange(8)
    own = at_query[:, None] // 2
    means = keys.repeat_interleave(2, 1).unflatten(2, (8, 2)).mean(3)
    gate = queries @ means.mT
    if together:
        weights = (gate / 4**0.5).masked_fill(block >= own, float("-inf")).softmax(-1)
        gate = weights.unflatten(1, (2, 2)).sum(2).repeat_interleave(2, 1)
        gate = gate.masked_fill((block == 0) | (block == own - 1), float("inf"))
    gate = gate.masked_fill(block > own, float("-inf"))
    gate = gate.masked_fill(block == own, float("inf"))
    chosen = gate.topk(4 if together else 3, -1).indices
    chosen = torch.zeros_like(gate, dtype=torch.bool).scatter(-1, chosen, True)
    context = functional.scaled_dot_product_attention(
        queries, keys, values, enable_gqa=True,
        attn_mask=chosen[..., at_key // 2] & (at_key <= at_query[:, None]))
    project(fixture, "context", context).backward()
    for name, x in inputs.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)
    return fixture


def optimizer(make, clip_norm=0.0):
    """Ten optimizer steps of one parameter with given gradients."""
    fixture = Fixture()
    parameter = nn.Parameter(torch.randn(6))
    algorithm = make([parameter])
    fixture.add("clip_norm", torch.tensor(clip_norm))
    fixture.add("start", parameter)
    for step in range(10):
        parameter.grad = torch.randn(6)
        fixture.add(f"grad.{step}", parameter.grad)
        if clip_norm > 0:
            nn.utils.clip_grad_norm_([parameter], clip_norm)
        algorithm.step()
        fixture.add(f"value.{step}", parameter)
    return fixture


def self_attention(sink=False, cap=None, forget=False):
    """Causal self-attention of 5 positions in two heads. Each head has a sink
    logit, scores with a soft cap, or a forget gate."""
    fixture = Fixture()
    parameters = {
        name + ".weight": (torch.randn(6, 6) / 2).requires_grad_()
        for name in ("query", "key", "value", "output")}
    if sink:
        parameters["score.sink.logit"] = torch.randn(2, requires_grad=True)
    if forget:
        parameters["score.forget.weight"] = (torch.randn(2, 6) / 2).requires_grad_()
        parameters["score.forget.bias"] = torch.randn(2, requires_grad=True)
    x = torch.randn(2, 5, 6, requires_grad=True)
    query, key, value = (
        (x @ parameters[name + ".weight"].mT).unflatten(-1, (2, 3)).transpose(1, 2)
        for name in ("query", "key", "value"))
    scores = query @ key.mT / 3**0.5
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    if forget:
        log_decays = functional.logsigmoid(functional.linear(
            x, parameters["score.forget.weight"], parameters["score.forget.bias"]))
        sums = log_decays.mT.cumsum(-1)  # [batch, heads, positions]
        scores = scores + (sums[..., :, None] - sums[..., None, :])
    scores = scores.masked_fill(
        torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
    if sink:
        logits = parameters["score.sink.logit"][:, None, None]
        scores = torch.cat([scores, logits.expand(2, 2, 5, 1)], -1)
    weights = scores.softmax(-1)[..., :5]
    y = (weights @ value).transpose(1, 2).flatten(2)
    y = y @ parameters["output.weight"].mT
    project(fixture, "y", y).backward()
    for name, array in {"x": x, **parameters}.items():
        fixture.add(name if name == "x" else "value." + name, array)
        fixture.add("grad." + name, array.grad)
    return fixture


def norm_of_heads(kind, x, gain):
    """Normalizes queries or keys x [batch, heads, time, width]."""
    width = gain.shape[:1]
    if kind == "query_key_norm":
        return functional.rms_norm(x, width, gain, 1e-6)
    if kind == "query_key_layer_norm":
        return functional.layer_norm(x, width, gain, None, 1e-6)
    if kind == "query_key_l2_norm":
        return functional.normalize(x, dim=-1) * gain
    all_heads = x.transpose(1, 2).flatten(2)
    return functional.rms_norm(all_heads, width, gain, 1e-6).unflatten(
        -1, (2, 3)).transpose(1, 2)


def attention_variant(kind):
    """Causal self-attention of 5 positions in two heads, with a norm of queries
    and keys, a formula of scores, maps of scores or weights, or another
    normalizer.
    """
    fixture = Fixture()
    shapes = {
        name + ".weight": (6, 6)
        for name in ("query", "key", "value", "output")}
    if kind.startswith("query_key"):
        width = 6 if kind == "query_key_norm_all_heads" else 3
        shapes |= {"query_norm.weight": (width,), "key_norm.weight": (width,)}
    elif kind == "talking_heads":
        shapes |= {"score.map_before.weight": (2, 2),
                   "score.map_after.weight": (2, 2)}
    elif kind == "scalable_softmax":
        shapes |= {"score.normalizer.scale": (2,),
                   "score.normalizer.bias": (2,)}
    elif kind == "formula_distance":
        shapes |= {"score.b": (2, 4)}
    elif kind == "formula_inputs":
        shapes |= {"score.A": (2, 4, 6), "score.B": (2, 4, 6),
                   "score.s": (2,)}
    p = {name: (torch.randn(shape) / 2).requires_grad_()
         for name, shape in shapes.items()}
    x = torch.randn(2, 5, 6, requires_grad=True)
    query, key, value = (
        (x @ p[name + ".weight"].mT).unflatten(-1, (2, 3)).transpose(1, 2)
        for name in ("query", "key", "value"))
    if kind.startswith("query_key"):
        query = norm_of_heads(kind, query, p["query_norm.weight"])
        key = norm_of_heads(kind, key, p["key_norm.weight"])
    scores = query @ key.mT / 3**0.5
    if kind == "talking_heads":
        scores = torch.einsum(
            "ij,bjqk->biqk", p["score.map_before.weight"], scores)
    if kind == "formula_distance":
        distance = torch.arange(5)[:, None] - torch.arange(5)
        scores = scores + p["score.b"][:, distance.clamp(-1, 2) + 1]
    elif kind == "formula_inputs":
        of_query, of_key = (
            torch.einsum("hrw,btw->bhtr", p["score." + name], x)
            for name in "AB")
        scores = (p["score.s"][:, None, None] * scores
                  + of_query @ of_key.mT / 2)
    # The number of keys that each query sees.
    seen = torch.arange(1.0, 6.0)[:, None]
    if kind == "scalable_softmax":
        of_head = lambda name: p["score.normalizer." + name][:, None, None]
        scores = scores * (of_head("scale") * seen.log() + of_head("bias"))
    elif kind == "log_length":
        scores = scores * (seen.log() / math.log(2)).clamp(min=1)
    scores = scores.masked_fill(
        torch.ones(5, 5, dtype=torch.bool).triu(1), float("-inf"))
    if kind == "top_k":
        kept = scores.topk(2).indices
        hidden = torch.full_like(scores, float("-inf"))
        scores = hidden.scatter(-1, kept, scores.gather(-1, kept))
    if kind == "relu_squared":
        weights = scores.relu()**2 / seen
    elif kind == "sigmoid":
        weights = (scores - seen.log()).sigmoid()
    else:
        weights = scores.softmax(-1)
    if kind == "talking_heads":
        weights = torch.einsum(
            "ij,bjqk->biqk", p["score.map_after.weight"], weights)
    y = (weights @ value).transpose(1, 2).flatten(2) @ p["output.weight"].mT
    project(fixture, "y", y).backward()
    for name, array in {"x": x, **p}.items():
        fixture.add(name if name == "x" else "value." + name, array)
        fixture.add("grad." + name, array.grad)
    return fixture


def head_output(kind):
    """Causal self-attention of 5 positions. Its heads go through a gate, a norm
    or the difference of pairs before the output projection."""
    fixture = Fixture()
    heads = 4 if kind == "differential" else 2
    shapes = {
        "query": (heads * 3, 6), "key": (6, 6), "value": (6, 6),
        "output": (6, 6)}
    if kind == "gate":
        shapes["head_output"] = (6, 6)
    elif kind == "differential":
        shapes["head_output.lambda"] = (2, 6)
    # Reduces the weights, because large scores would make PyTorch's rounding
    # visible.
    parameters = {
        name + ".weight": (torch.randn(shape) / 2).requires_grad_()
        for name, shape in shapes.items()}
    if kind in ("rms_norm", "group_norm"):
        parameters["head_output.weight"] = torch.randn(6, requires_grad=True)
    if kind == "group_norm":
        parameters["head_output.bias"] = torch.randn(6, requires_grad=True)
    if kind == "gate":
        parameters["head_output.bias"] = torch.full(
            (6,), 2.0, requires_grad=True)
    p = parameters
    x = torch.randn(2, 5, 6, requires_grad=True)
    split = lambda name: (x @ p[name + ".weight"].mT).unflatten(
        -1, (-1, 3)).transpose(1, 2)
    y = functional.scaled_dot_product_attention(
        split("query"), split("key"), split("value"), is_causal=True,
        enable_gqa=True).transpose(1, 2)  # [batch, queries, heads, width]
    if kind == "gate":
        gates = functional.linear(
            x, p["head_output.weight"], p["head_output.bias"])
        y = y.flatten(2) * gates.sigmoid()
    elif kind == "rms_norm":
        y = functional.rms_norm(y, (3,), eps=1e-5).flatten(2)
        y = y * p["head_output.weight"]
    elif kind == "group_norm":
        y = functional.group_norm(
            y.flatten(2).flatten(0, 1), 2, p["head_output.weight"],
            p["head_output.bias"]).unflatten(0, (2, 5))
    else:
        gates = functional.linear(x, p["head_output.lambda.weight"])
        y = y[:, :, 0::2] - gates.sigmoid()[..., None] * y[:, :, 1::2]
        y = y.flatten(2)
    project(fixture, "y", y @ p["output.weight"].mT).backward()
    for name, array in {"x": x, **parameters}.items():
        fixture.add(name if name == "x" else "value." + name, array)
        fixture.add("grad." + name, array.grad)
    return fixture


def latent(query_rank=0):
    """Causal self-attention of 5 positions in two heads. Keys and values come
    from latents of width 4, as in DeepSeek-V2, with rotary parts of width 2."""
    fixture = Fixture()
    inputs = query_rank or 6
    shapes = {
        "query": (2 * 5, inputs), "latent": (4 + 2, 6), "key": (6, 4),
        "value": (6, 4), "output": (6, 6)}
    if query_rank:
        shapes["query_latent"] = (query_rank, 6)
    parameters = {
        name + ".weight": (torch.randn(shape) / 2).requires_grad_()
        for name, shape in shapes.items()}
    gains = {"latent_norm": 4, "query_latent_norm": query_rank}
    for name, width in gains.items():
        if width:
            parameters[name + ".weight"] = torch.randn(
                width, requires_grad=True)
    p = parameters
    x = torch.randn(2, 5, 6, requires_grad=True)
    positions = torch.arange(5)
    normed = lambda name, rows: functional.rms_norm(
        rows, rows.shape[-1:], p[name + ".weight"], eps=1e-6)
    heads = lambda rows: rows.unflatten(-1, (2, -1)).transpose(1, 2)
    queries = x
    if query_rank:
        queries = normed(
            "query_latent_norm", x @ p["query_latent.weight"].mT)
    query, turning = heads(queries @ p["query.weight"].mT).split([3, 2], -1)
    down, shared = (x @ p["latent.weight"].mT).split([4, 2], -1)
    down = normed("latent_norm", down)
    key, value = (heads(down @ p[name + ".weight"].mT)
                  for name in ("key", "value"))
    shared = rotate(shared[:, None], positions, True).expand(2, 2, 5, 2)
    y = functional.scaled_dot_product_attention(
        torch.cat([query, rotate(turning, positions, True)], -1),
        torch.cat([key, shared], -1), value, is_causal=True)
    y = y.transpose(1, 2).flatten(2) @ p["output.weight"].mT
    project(fixture, "y", y).backward()
    for name, array in {"x": x, **parameters}.items():
        fixture.add(name if name == "x" else "value." + name, array)
        fixture.add("grad." + name, array.grad)
    return fixture


def main():
    root = pathlib.Path(sys.argv[1])
    optim = torch.optim
    nn_cases = {
        "linear": linear,
        "embedding": embedding,
        "layer_norm": layer_norm,
        "cross_entropy": lambda: cross_entropy(0.0),
        "cross_entropy_smoothed": lambda: cross_entropy(0.1),
        "gru": lambda: recurrent(nn.GRU),
        "lstm": lambda: recurrent(nn.LSTM),
        "sgd": lambda: optimizer(lambda p: optim.SGD(
            p, lr=0.1, momentum=0.9, weight_decay=0.01)),
        "sgd_nesterov": lambda: optimizer(lambda p: optim.SGD(
            p, lr=0.1, momentum=0.9, nesterov=True)),
        "adam": lambda: optimizer(lambda p: optim.Adam(
            p, lr=0.1, weight_decay=0.01)),
        "adamw": lambda: optimizer(
            lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.1), clip_norm=1.0),
    }
    attention_cases = {
        "additive": lambda: score(
            additive, 3, 2, w_q=(1, 4, 3), w_k=(1, 4, 2), w_v=(1, 4)),
        "additive_bias": lambda: score(
            additive, 3, 2, w_q=(1, 4, 3), w_k=(1, 4, 2), w_v=(1, 4),
            bias=(1, 4)),
        "scaled_dot": lambda: score(scaled_dot, 3, 3),
        "bilinear": lambda: score(bilinear, 3, 2, w=(1, 3, 2)),
        "multi_head_cross": lambda: multi_head(5, 3, causal=False),
        "multi_head_causal": lambda: multi_head(6, 6, causal=True),
        "alibi": lambda: attention(alibi=True, causal=True),
        "grouped_heads": lambda: attention(key_heads=2),
        "rotary": lambda: attention(rotary="half"),
        "rotary_interleaved": lambda: attention(
            rotary="interleaved", key_heads=2, causal=True),
        "window": lambda: attention(window=2),
        "relative_key": lambda: relative(of_keys=False),
        "relative_key_query": lambda: relative(of_keys=True),
        "sink": lambda: self_attention(sink=True),
        "forget": lambda: self_attention(forget=True),
        "soft_cap": lambda: self_attention(cap=1.0),
        "latent": latent,
        "latent_queries": lambda: latent(query_rank=3),
        "moba": lambda: block_attention(together=False),
        "nsa_blocks": lambda: block_attention(together=True),
        "head_gate": lambda: head_output("gate"),
        "head_rms_norm": lambda: head_output("rms_norm"),
        "head_group_norm": lambda: head_output("group_norm"),
        "head_differential": lambda: head_output("differential"),
    } | {
        kind: lambda kind=kind: attention_variant(kind)
        for kind in (
            "formula_distance", "formula_inputs", "log_length", "query_key_l2_norm", "query_key_layer_norm",
            "query_key_norm", "query_key_norm_all_heads", "relu_squared",
            "scalable_softmax", "sigmoid", "talking_heads", "top_k")
    }
    for package, cases in {
            "optimization": nn_cases, "attention": attention_cases}.items():
        folder = root / package / "testdata"
        folder.mkdir(parents=True, exist_ok=True)
        for name, case in cases.items():
            torch.manual_seed(1)
            case().write(folder / (name + ".txt"))


if __name__ == "__main__":
    main()
