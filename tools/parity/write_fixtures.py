#!/usr/bin/env python3
"""Writes what PyTorch computes, for the parity tests of nn.

    pip install torch==2.13.0 numpy
    tools/parity/write_fixtures.py nn/testdata

PyTorch is needed here alone: the tests read the files. Each file is a list of
named arrays, one a line: name, rank, extents, then the elements, all separated
by spaces and written with digits enough to read the same number back.
"""

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional


class Fixture:
    """Named arrays in the order they were added."""

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
    """Adds `output` and random weights of it; returns their inner product."""
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
    padding = 2  # is not counted
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
    """Two layers, both directions, lengths 4, 1 and 3."""
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


def optimizer(make, clip_norm=0.0):
    """Ten steps of one parameter by given gradients."""
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


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    optim = torch.optim
    cases = {
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
    for name, case in cases.items():
        torch.manual_seed(1)
        case().write(folder / (name + ".txt"))


if __name__ == "__main__":
    main()
