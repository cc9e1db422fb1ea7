#!/usr/bin/env python3
"""Writes reference results of PyTorch for the parity tests of state mixers.

Each mixer is a loop over positions with the formulas of its paper. See
write_fixtures.py.

    pip install torch==2.13.0 numpy
    tools/parity/write_mixer_fixtures.py .
"""

import pathlib
import sys

import torch
from torch.nn import functional

from write_fixtures import Fixture, project

WIDTH, HEADS, TIME = 8, 2, 6


class Parameters:
    """Random parameters, in the order in which they are first used."""

    def __init__(self):
        self.all = {}

    def __call__(self, name, *shape):
        value = torch.randn(*shape) / 2
        return self.all.setdefault(name, value.requires_grad_())


def heads_of(x):
    """[batch, time, heads * width] -> [batch, time, heads, width]."""
    return x.reshape(*x.shape[:2], HEADS, -1)


def recurrence(q, k, v, decay):
    """o_t = S_t^T q_t for S_t = diag(decay_t) S_{t-1} + k_t v_t^T, where decay
    is [batch, time, heads, key width]."""
    state = torch.zeros(*q.shape[:1], HEADS, q.shape[-1], v.shape[-1])
    outputs = []
    for t in range(TIME):
        state = decay[:, t, :, :, None] * state
        state = state + k[:, t, :, :, None] * v[:, t, :, None, :]
        outputs.append(torch.einsum("bhd,bhde->bhe", q[:, t], state))
    return torch.stack(outputs, 1)


def rms(x, gain):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain


def convolution(y, p, name, width=4, bias=False):
    """SiLU of a causal convolution of each channel of y [batch, time,
    channels]."""
    channels = y.shape[-1]
    weight = p(name + ".weight", channels, width)
    y = functional.conv1d(
        functional.pad(y.transpose(1, 2), (width - 1, 0)), weight[:, None],
        p(name + ".bias", channels) if bias else None, groups=channels)
    return functional.silu(y.transpose(1, 2))


def linear_attention(x, p):
    """Katharopoulos et al., 2020, with biases."""
    def linear(name):
        return heads_of(functional.linear(
            x, p(name + ".weight", WIDTH, WIDTH), p(name + ".bias", WIDTH)))
    q = functional.elu(linear("query")) + 1
    k = functional.elu(linear("key")) + 1
    v = linear("value")
    ones = torch.ones_like(q)
    sums = recurrence(q, k, torch.ones_like(v[..., :1]), ones)
    y = (recurrence(q, k, v, ones) / sums).flatten(2)
    return functional.linear(
        y, p("output.weight", WIDTH, WIDTH), p("output.bias", WIDTH))


def rotate(x):
    """RoFormer, with the halves of a vector as pairs."""
    half = x.shape[-1] // 2
    angle = torch.arange(TIME)[:, None, None] * 10000 ** (
        -torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(),
                      b * angle.cos() + a * angle.sin()], -1)


def gated_output(x, y, p):
    """Normalizes each head, then applies the gate."""
    y = rms(y, p("norm.weight", y.shape[-1])).flatten(2)
    gate = functional.silu(x @ p("gate.weight", y.shape[-1], WIDTH).T)
    return (y * gate) @ p("output.weight", WIDTH, y.shape[-1]).T


def retention(x, p):
    """Sun et al., 2023."""
    q = rotate(heads_of(x @ p("query.weight", WIDTH, WIDTH).T))
    k = rotate(heads_of(x @ p("key.weight", WIDTH, WIDTH).T))
    v = heads_of(x @ p("value.weight", 2 * WIDTH, WIDTH).T)
    decay = 1 - 2.0 ** (-5 - torch.arange(HEADS))
    decay = decay[:, None].expand_as(q)
    return gated_output(
        x, recurrence(q / q.shape[-1] ** 0.5, k, v, decay), p)


def gated_linear(x, p):
    """Yang et al., 2024."""
    q = heads_of(x @ p("query.weight", WIDTH // 2, WIDTH).T)
    k = heads_of(x @ p("key.weight", WIDTH // 2, WIDTH).T)
    v = heads_of(x @ p("value.weight", WIDTH, WIDTH).T)
    z = functional.linear(x @ p("narrow_decay.weight", 16, WIDTH).T,
                          p("decay.weight", WIDTH // 2, 16),
                          p("decay.bias", WIDTH // 2))
    decay = heads_of(torch.sigmoid(z) ** (1 / 16))
    return gated_output(
        x, recurrence(q / q.shape[-1] ** 0.5, k, v, decay), p)


def mamba2(x, p, convolved=False):
    """Dao and Gu, 2024; d_state 3."""
    def shared(name):
        y = x @ p(name + ".weight", 3, WIDTH).T
        y = (convolution(y, p, name + "_convolution", bias=True) if convolved
             else functional.silu(y))
        return y[:, :, None].expand(-1, -1, HEADS, -1)
    c, b = shared("query"), shared("key")
    v = x @ p("value.weight", 2 * WIDTH, WIDTH).T
    if convolved:
        v = convolution(v, p, "value_convolution", bias=True)
    v = heads_of(v)
    step = functional.softplus(
        x @ p("decay.weight", HEADS, WIDTH).T + p("step_bias", HEADS))
    decay = torch.exp(-p("decay_rate", HEADS).exp() * step)
    y = recurrence(c, b * step[..., None], v,
                   decay[..., None].expand_as(c))
    y = (y + p("skip", HEADS, 1, 1)[:, 0] * v).flatten(2)
    y = y * functional.silu(x @ p("gate.weight", 2 * WIDTH, WIDTH).T)
    y = rms(y, p("norm.weight", 2 * WIDTH))
    return y @ p("output.weight", WIDTH, 2 * WIDTH).T


def mamba2_convolution(x, p):
    return mamba2(x, p, convolved=True)


def delta_rule(q, k, v, beta, decay):
    """o_t = S_t^T q_t for S_t = (I - b_t k_t k_t^T) diag(decay_t) S_{t-1} +
    b_t k_t v_t^T, with b [batch, time, heads]."""
    state = torch.zeros(*q.shape[:1], HEADS, q.shape[-1], v.shape[-1])
    identity = torch.eye(q.shape[-1])
    outputs = []
    for t in range(TIME):
        outer = k[:, t, :, :, None] * k[:, t, :, None, :]
        rate = beta[:, t, :, None, None]
        state = (identity - rate * outer) @ (decay[:, t, :, :, None] * state)
        state = state + rate * k[:, t, :, :, None] * v[:, t, :, None, :]
        outputs.append(torch.einsum("bhd,bhde->bhe", q[:, t], state))
    return torch.stack(outputs, 1)


def delta_terms(x, p, key_width, value_width, convolved=True):
    """Queries, keys, values and the sigmoid of the rates."""
    def project(name, width):
        y = x @ p(name + ".weight", HEADS * width, WIDTH).T
        return heads_of(convolution(y, p, name + "_convolution") if convolved
                        else functional.silu(y))

    def unit(y):
        return y * torch.rsqrt(y.square().sum(-1, keepdim=True) + 1e-6)
    q, k = unit(project("query", key_width)), unit(project("key", key_width))
    v = project("value", value_width)
    beta = torch.sigmoid(x @ p("rate.weight", HEADS, WIDTH).T)
    return q / key_width ** 0.5, k, v, beta


def delta_net(x, p):
    """Yang et al., 2024."""
    q, k, v, beta = delta_terms(x, p, 4, 4)
    y = rms(delta_rule(q, k, v, beta, torch.ones_like(k)),
            p("norm.weight", 4)).flatten(2)
    return y @ p("output.weight", WIDTH, WIDTH).T


def gated_delta(x, p):
    """Yang et al., 2025."""
    q, k, v, beta = delta_terms(x, p, 3, 6)
    step = functional.softplus(
        x @ p("decay.weight", HEADS, WIDTH).T + p("step_bias", HEADS))
    decay = torch.exp(-p("decay_rate", HEADS).exp() * step)
    return gated_output(
        x, delta_rule(q, k, v, beta, decay[..., None].expand_as(k)), p)


def kda(x, p):
    """Kimi team, 2025. Without convolution, and with eigenvalues from -1."""
    q, k, v, beta = delta_terms(x, p, 4, 4, convolved=False)
    z = x @ p("narrow_decay.weight", 4, WIDTH).T @ p("decay.weight", 8, 4).T
    step = heads_of(functional.softplus(z + p("step_bias", 8)))
    decay = torch.exp(-p("decay_rate", HEADS).exp()[:, None] * step)
    y = rms(delta_rule(q, k, v, 2 * beta, decay), p("norm.weight", 4))
    z = functional.linear(x @ p("narrow_gate.weight", 4, WIDTH).T,
                          p("gate.weight", 8, 4), p("gate.bias", 8))
    return (y.flatten(2) * torch.sigmoid(z)) @ p("output.weight", WIDTH, 8).T


def fixture_of(mixer):
    fixture = Fixture()
    parameters = Parameters()
    x = torch.randn(2, TIME, WIDTH, requires_grad=True)
    project(fixture, "y", mixer(x, parameters)).backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    for name, parameter in parameters.all.items():
        fixture.add("value." + name, parameter)
        fixture.add("grad." + name, parameter.grad)
    return fixture


def main():
    out = pathlib.Path(sys.argv[1]) / "attention" / "mixers" / "testdata"
    out.mkdir(parents=True, exist_ok=True)
    for seed, mixer in enumerate(
            [linear_attention, retention, gated_linear, mamba2,
             mamba2_convolution, delta_net, gated_delta, kda]):
        torch.manual_seed(seed)
        fixture_of(mixer).write(out / (mixer.__name__ + ".txt"))


if __name__ == "__main__":
    main()
