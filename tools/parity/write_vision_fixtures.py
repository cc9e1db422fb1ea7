#!/usr/bin/env python3
"""Writes reference results of timm for the parity tests of Vision Transformers.

    pip install torch==2.13.0 timm==1.0.31 numpy
    tools/parity/write_vision_fixtures.py .

See write_fixtures.py.
"""

import functools
import pathlib
import sys

from timm.models import vision_transformer
import torch
from torch import nn

from write_fixtures import Fixture, project
from write_transformer_fixtures import add, add_attention, add_linear

WIDTH, HEADS = 6, 2
# Gives int(6 * 0.9) = 5 hidden units.
MLP_RATIO = 0.9


def spread(module):
    """Sets all parameters to values that affect the result."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)


def add_block(fixture, prefix, block):
    """Adds separate gradients of queries, keys and values; values are fused."""
    add_linear(fixture, prefix + "attention_norm", block.norm1)
    for kind, fused in block.attn.qkv.named_parameters():
        fixture.add(f"fused.{prefix}attention.{kind}", fused)
        for part, grad in zip(["query", "key", "value"], fused.grad.chunk(3)):
            fixture.add(f"grad.{prefix}attention.{part}.{kind}", grad)
    add_linear(fixture, prefix + "attention.output", block.attn.proj)
    add_linear(fixture, prefix + "feed_forward_norm", block.norm2)
    add_linear(fixture, prefix + "feed_forward.input", block.mlp.fc1)
    add_linear(fixture, prefix + "feed_forward.output", block.mlp.fc2)


def block_case():
    """A layer without biases of queries, keys and values."""
    fixture = Fixture()
    module = vision_transformer.Block(
        WIDTH, HEADS, mlp_ratio=MLP_RATIO,
        norm_layer=functools.partial(nn.LayerNorm, eps=1e-5))
    spread(module)
    x = torch.randn(2, 4, WIDTH, requires_grad=True)
    project(fixture, "y", module(x)).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_block(fixture, "", module)
    return fixture


def make_model(classes):
    """Makes a model for images of two channels and 4 x 6 pixels, in patches of
    2."""
    return vision_transformer.VisionTransformer(
        img_size=(4, 6), patch_size=2, in_chans=2, num_classes=classes,
        embed_dim=WIDTH, depth=2, num_heads=HEADS, mlp_ratio=MLP_RATIO,
        qkv_bias=True, norm_layer=functools.partial(nn.LayerNorm, eps=1e-6))


def add_model(fixture, prefix, module):
    """Adds all parameters but the head."""
    embedding = module.patch_embed.proj
    add(fixture, prefix + "patch_embedding.weight",
        embedding.weight.flatten(1), embedding.weight.grad.flatten(1))
    add(fixture, prefix + "patch_embedding.bias", embedding.bias,
        embedding.bias.grad)
    add(fixture, prefix + "class_token", module.cls_token[0, 0],
        module.cls_token.grad[0, 0])
    add(fixture, prefix + "position_embedding.weight", module.pos_embed[0],
        module.pos_embed.grad[0])
    for i, block in enumerate(module.blocks):
        add_block(fixture, f"{prefix}layers.{i}.", block)
    add_linear(fixture, prefix + "norm", module.norm)


def model_case():
    """A classifier of three classes."""
    fixture = Fixture()
    module = make_model(classes=3)
    spread(module)
    x = torch.randn(2, 2, 4, 6, requires_grad=True)
    project(fixture, "y", module(x)).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_model(fixture, "", module)
    add_linear(fixture, "head", module.head)
    return fixture


def captioner_case():
    """A decoder of two BERT layers reads four ids out of nine."""
    fixture = Fixture()
    encoder = make_model(classes=0)
    decoder = nn.ModuleDict({
        "embedding": nn.Embedding(9, WIDTH),
        "positions": nn.Embedding(5, WIDTH),
        "layers": nn.ModuleList([nn.TransformerDecoderLayer(
            WIDTH, HEADS, dim_feedforward=5, dropout=0.0, activation="gelu",
            layer_norm_eps=1e-12, batch_first=True) for _ in range(2)]),
        "output": nn.Linear(WIDTH, 9),
    })
    spread(encoder)
    spread(decoder)
    x = torch.randn(2, 2, 4, 6, requires_grad=True)
    ids = torch.tensor([[2, 5, 4, 6], [2, 5, 8, 7]])
    memory = encoder.forward_features(x)
    y = decoder["embedding"](ids) + decoder["positions"](torch.arange(4))
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    for layer in decoder["layers"]:
        y = layer(y, memory, tgt_mask=later)
    project(fixture, "y", decoder["output"](y)).backward()
    fixture.add("ids", ids)
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_model(fixture, "encoder.", encoder)
    add_linear(fixture, "decoder.embedding", decoder["embedding"])
    add_linear(fixture, "decoder.position_embedding", decoder["positions"])
    for i, layer in enumerate(decoder["layers"]):
        prefix = f"decoder.layers.{i}."
        add_attention(fixture, prefix + "attention", layer.self_attn)
        add_linear(fixture, prefix + "attention_norm", layer.norm1)
        add_attention(fixture, prefix + "cross_attention", layer.multihead_attn)
        add_linear(fixture, prefix + "cross_attention_norm", layer.norm2)
        add_linear(fixture, prefix + "feed_forward.input", layer.linear1)
        add_linear(fixture, prefix + "feed_forward.output", layer.linear2)
        add_linear(fixture, prefix + "feed_forward_norm", layer.norm3)
    add_linear(fixture, "decoder.output", decoder["output"])
    return fixture


def main():
    folder = pathlib.Path(sys.argv[1]) / "vision/testdata"
    folder.mkdir(parents=True, exist_ok=True)
    cases = {
        "vit_block": block_case,
        "vit_model": model_case,
        "captioner": captioner_case,
    }
    for name, case in cases.items():
        torch.manual_seed(1)
        case().write(folder / (name + ".txt"))


if __name__ == "__main__":
    main()
