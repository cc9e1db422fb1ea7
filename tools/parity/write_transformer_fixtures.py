#!/usr/bin/env python3
"""Writes reference results for the parity tests of Transformer layers.

They come from PyTorch and transformers. See write_fixtures.py.

    pip install torch==2.13.0 transformers numpy
    tools/parity/write_transformer_fixtures.py .
"""

import pathlib
import sys

import torch
from torch import nn

from write_fixtures import Fixture, project

WIDTH, HEADS, HIDDEN = 6, 2, 5


def spread(module):
    """Sets norms and biases to values that affect the result."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.normal_()


def add(fixture, name, parameter, grad):
    fixture.add("value." + name, parameter)
    fixture.add("grad." + name, grad)


def add_linear(fixture, name, module):
    for kind, parameter in module.named_parameters():
        add(fixture, f"{name}.{kind}", parameter, parameter.grad)


def add_attention(fixture, name, module):
    parts = ["query", "key", "value"]
    for kind, joint in {
            "weight": module.in_proj_weight,
            "bias": module.in_proj_bias}.items():
        for part, value, grad in zip(
                parts, joint.chunk(3), joint.grad.chunk(3)):
            add(fixture, f"{name}.{part}.{kind}", value, grad)
    add_linear(fixture, name + ".output", module.out_proj)


def options(pre, activation):
    return {
        "dim_feedforward": HIDDEN, "dropout": 0.0, "activation": activation,
        "norm_first": pre, "batch_first": True}


def encoder_layer(pre, activation):
    """Three sequences of 4 positions, of which 4, 1 and 3 are valid."""
    fixture = Fixture()
    module = nn.TransformerEncoderLayer(
        WIDTH, HEADS, **options(pre, activation))
    spread(module)
    x = torch.randn(3, 4, WIDTH, requires_grad=True)
    lengths = torch.tensor([4, 1, 3])
    hidden = torch.arange(4) >= lengths[:, None]
    project(fixture, "y", module(x, src_key_padding_mask=hidden)).backward()
    fixture.add("lengths", lengths)
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_attention(fixture, "attention", module.self_attn)
    add_linear(fixture, "attention_norm", module.norm1)
    add_linear(fixture, "feed_forward.input", module.linear1)
    add_linear(fixture, "feed_forward.output", module.linear2)
    add_linear(fixture, "feed_forward_norm", module.norm2)
    return fixture


def decoder_layer(pre, activation):
    """A causal layer with memories of 5 positions; 2, 5 and 1 are valid."""
    fixture = Fixture()
    module = nn.TransformerDecoderLayer(
        WIDTH, HEADS, **options(pre, activation))
    spread(module)
    x = torch.randn(3, 4, WIDTH, requires_grad=True)
    memory = torch.randn(3, 5, WIDTH, requires_grad=True)
    lengths = torch.tensor([2, 5, 1])
    hidden = torch.arange(5) >= lengths[:, None]
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    y = module(x, memory, tgt_mask=later, memory_key_padding_mask=hidden)
    project(fixture, "y", y).backward()
    fixture.add("lengths", lengths)
    for name, array in {"x": x, "memory": memory}.items():
        fixture.add(name, array)
        fixture.add("grad." + name, array.grad)
    add_attention(fixture, "attention", module.self_attn)
    add_linear(fixture, "attention_norm", module.norm1)
    add_attention(fixture, "cross_attention", module.multihead_attn)
    add_linear(fixture, "cross_attention_norm", module.norm2)
    add_linear(fixture, "feed_forward.input", module.linear1)
    add_linear(fixture, "feed_forward.output", module.linear2)
    add_linear(fixture, "feed_forward_norm", module.norm3)
    return fixture


def gpt2_block():
    """Pre-norm, causal, GELU by tanh. Weights are stored as [in, out]."""
    from transformers.models.gpt2 import modeling_gpt2
    fixture = Fixture()
    config = modeling_gpt2.GPT2Config(
        n_embd=WIDTH, n_head=HEADS, n_inner=HIDDEN, n_positions=8,
        resid_pdrop=0.0, attn_pdrop=0.0, attn_implementation="eager")
    module = modeling_gpt2.GPT2Block(config, layer_idx=0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    x = torch.randn(2, 5, WIDTH, requires_grad=True)
    later = torch.full((5, 5), float("-inf")).triu(1)[None, None]
    y = module(x, attention_mask=later)
    y = y[0] if isinstance(y, tuple) else y
    project(fixture, "y", y).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)

    def add_conv(name, conv):
        add(fixture, name + ".weight", conv.weight.T, conv.weight.grad.T)
        add(fixture, name + ".bias", conv.bias, conv.bias.grad)

    joint = module.attn.c_attn
    for i, part in enumerate(["query", "key", "value"]):
        rows = slice(i * WIDTH, (i + 1) * WIDTH)
        add(fixture, f"attention.{part}.weight", joint.weight.T[rows],
            joint.weight.grad.T[rows])
        add(fixture, f"attention.{part}.bias", joint.bias[rows],
            joint.bias.grad[rows])
    add_conv("attention.output", module.attn.c_proj)
    add_linear(fixture, "attention_norm", module.ln_1)
    add_conv("feed_forward.input", module.mlp.c_fc)
    add_conv("feed_forward.output", module.mlp.c_proj)
    add_linear(fixture, "feed_forward_norm", module.ln_2)
    return fixture


def main():
    folder = pathlib.Path(sys.argv[1]) / "attention/transformer/testdata"
    folder.mkdir(parents=True, exist_ok=True)
    cases = {
        "encoder_layer_post": lambda: encoder_layer(False, "relu"),
        "encoder_layer_pre": lambda: encoder_layer(True, "gelu"),
        "decoder_layer_post": lambda: decoder_layer(False, "gelu"),
        "decoder_layer_pre": lambda: decoder_layer(True, "relu"),
        "gpt2_block": gpt2_block,
    }
    for name, case in cases.items():
        torch.manual_seed(1)
        case().write(folder / (name + ".txt"))


if __name__ == "__main__":
    main()
