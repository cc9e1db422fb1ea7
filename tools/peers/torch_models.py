"""The models in PyTorch, each in an idiomatic and a tuned form.

A model is an nn.Module whose forward() returns the loss on the data of a
workload.
"""

import step_data
import torch
import works
from torch import nn
from torch.nn import functional


class Regression(nn.Module):
    """Nadaraya-Watson regression with a learned width that excludes self."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        x, y = (torch.from_numpy(a) for a in step_data.curve(work))
        self.w = nn.Parameter(weights["attention.w"].reshape(()))
        n = work.batch
        others = ~torch.eye(n, dtype=torch.bool)
        self.x, self.y, self.tuned = x, y, tuned
        # For each point, the keys and values are the other points.
        self.keys = x.repeat((n, 1))[others].reshape(n, -1)
        self.values = y.repeat((n, 1))[others].reshape(n, -1)
        self.half_squares = -(x[:, None] - self.keys)**2 / 2

    def forward(self):
        if self.tuned:
            scores = self.half_squares * (self.w * self.w)
            predicted = (scores.softmax(-1) * self.values).sum(-1)
        else:
            queries = self.x.repeat_interleave(self.keys.shape[1]).reshape(
                self.keys.shape)
            scores = functional.softmax(
                -((queries - self.keys) * self.w)**2 / 2, dim=1)
            predicted = torch.bmm(scores.unsqueeze(1),
                                  self.values.unsqueeze(-1)).reshape(-1)
        return functional.mse_loss(predicted, self.y)


class AdditiveScore(nn.Module):
    """w_v . tanh(W_q q + W_k k) of all pairs."""

    def __init__(self, w_q, w_k, w_v):
        super().__init__()
        self.w_q, self.w_k, self.w_v = (
            nn.Parameter(w[0]) for w in (w_q, w_k, w_v))

    def prepare(self, keys):
        return functional.linear(keys, self.w_k)

    def score(self, queries, prepared):
        """Scores [B, Q, D] and [B, K, H] -> [B, Q, K]."""
        queries = functional.linear(queries, self.w_q)
        hidden = torch.tanh(queries.unsqueeze(2) + prepared.unsqueeze(1))
        return hidden @ self.w_v


class AdditivePair(nn.Module):
    """Only the additive score, with fixed output gradients."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        del tuned  # there is only one form
        b, q, k, h = (work.batch, work.target_time, work.source_time,
                      work.hidden)
        self.score = AdditiveScore(*(weights[n] for n in ("w_q", "w_k", "w_v")))
        self.queries, self.keys, self.seed = (
            torch.from_numpy(step_data.uniform(stream, shape))
            for stream, shape in ((1, (b, q, h)), (2, (b, k, h)),
                                  (3, (b, q, k))))
        self.queries.requires_grad_()
        self.keys.requires_grad_()

    def forward(self):
        self.queries.grad = self.keys.grad = None
        scores = self.score.score(self.queries, self.score.prepare(self.keys))
        return (scores * self.seed).sum()


class MultiHead(nn.Module):
    """Multi-head self-attention that does not return its weights."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        self.heads, self.tuned = work.heads, tuned
        if tuned:
            self.weight = nn.Parameter(torch.cat(
                [weights[f"{n}.weight"] for n in ("query", "key", "value")]))
            self.bias = nn.Parameter(torch.cat(
                [weights[f"{n}.bias"] for n in ("query", "key", "value")]))
            self.output = nn.Linear(work.hidden, work.hidden)
        else:
            self.layer = nn.MultiheadAttention(work.hidden, work.heads,
                                               batch_first=True)
            self.output = self.layer.out_proj
            for part in ("weight", "bias"):
                with torch.no_grad():
                    getattr(self.layer, f"in_proj_{part}").copy_(torch.cat(
                        [weights[f"{n}.{part}"]
                         for n in ("query", "key", "value")]))
        with torch.no_grad():
            self.output.weight.copy_(weights["output.weight"])
            self.output.bias.copy_(weights["output.bias"])
        shape = (work.batch, work.source_time, work.hidden)
        self.x, self.seed = (torch.from_numpy(step_data.uniform(s, shape))
                             for s in (1, 2))
        self.x.requires_grad_()

    def forward(self):
        self.x.grad = None
        if not self.tuned:
            out, _ = self.layer(self.x, self.x, self.x, need_weights=False)
            return (out * self.seed).sum()
        b, t, m = self.x.shape
        qkv = functional.linear(self.x, self.weight, self.bias)
        q, k, v = qkv.view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        context = functional.scaled_dot_product_attention(q, k, v)
        out = self.output(context.transpose(1, 2).reshape(b, t, m))
        return (out * self.seed).sum()


class Overhead(nn.Module):
    """A chain of additions and products of 8 numbers."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        del weights, tuned  # there are no weights, and only one form
        self.count = work.batch
        self.x = nn.Parameter(torch.full((8,), 0.5))
        self.factor = torch.full((8,), 0.999)
        self.term = torch.full((8,), 0.001)

    def forward(self):
        y = self.x
        for _ in range(self.count // 2):
            y = y * self.factor
            y = y + self.term
        return y.sum()


def make(work, weights, tuned):
    """Returns the model of a workload, or None if another module has it."""
    kinds = {works.REGRESSION: Regression, works.ADDITIVE: AdditivePair,
             works.MULTI_HEAD: MultiHead, works.OVERHEAD: Overhead}
    if work.kind not in kinds:
        return None
    tensors = {name: torch.from_numpy(value)
               for name, value in weights.items()}
    return kinds[work.kind](work, tensors, tuned)
