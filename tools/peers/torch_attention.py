"""Causal attention with linear biases (ALiBi) in PyTorch.

The forms are scaled_dot_product_attention and flex_attention. In
scaled_dot_product_attention, the bias is a mask, and the flash kernel is
required. flex_attention is made for torch.compile.
"""

import step_data
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel


def _slopes(heads):
    """The slopes of Press, Smith and Lewis 2022, for a power of two."""
    return torch.exp2(-8 * torch.arange(1, heads + 1) / heads)


class Attention(nn.Module):
    """attend() returns [batch, heads, time, width], and forward() a loss."""

    def __init__(self, work):
        super().__init__()
        shape = (work.batch, work.heads, work.source_time,
                 work.hidden // work.heads)
        data = [torch.from_numpy(step_data.uniform(stream, shape))
                for stream in (1, 2, 3, 4)]
        self.inputs = nn.ParameterList(data[:3])
        self.seed = data[3]
        self.slopes = _slopes(work.heads)

    def forward(self):
        return (self.attend() * self.seed).sum()

    def numbers(self, context):
        return [float((context * self.seed).sum()), float(context.norm())]


class ScaledDotProduct(Attention):
    def __init__(self, work):
        super().__init__(work)
        position = torch.arange(work.source_time)
        distance = position[:, None] - position
        bias = -self.slopes[:, None, None] * distance
        self.mask = bias.masked_fill(distance < 0, -torch.inf).unsqueeze(0)

    def attend(self):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return functional.scaled_dot_product_attention(
                *self.inputs, attn_mask=self.mask)


class Flex(Attention):
    def __init__(self, work):
        super().__init__(work)
        self.requires_grad_(False)  # required on a CPU
        self.blocks = flex_attention.create_block_mask(
            lambda b, h, query, key: query >= key, None, None,
            work.source_time, work.source_time, device="cpu")

    def attend(self):
        def score(dot, _, head, query, key):
            return dot - self.slopes[head] * (query - key)

        return flex_attention.flex_attention(
            *self.inputs, score_mod=score, block_mask=self.blocks)


def make(work, form):
    return {"compiled_flex": Flex, "sdpa_flash": ScaledDotProduct}[form](work)
