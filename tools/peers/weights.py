"""Weights of a work: Regard's, from a safetensors file, or a stand-in's."""

import numpy as np
import step_data
import works
from safetensors.numpy import load_file


def shapes(work):
    """Names and shapes of the parameters, in PyTorch's layouts."""
    h = work.hidden
    if work.kind == works.REGRESSION:
        return {"attention.w": (1, 1)}
    if work.kind == works.ADDITIVE:
        return {"w_q": (1, h, h), "w_k": (1, h, h), "w_v": (1, h)}
    if work.kind == works.MULTI_HEAD:
        return {f"{name}.{part}": (h, h) if part == "weight" else (h,)
                for name in ("query", "key", "value", "output")
                for part in ("weight", "bias")}
    if work.kind == works.OVERHEAD:
        return {}
    e, u = work.embedding, work.target_vocabulary
    directions = ("", "reverse.") if work.bidirectional else ("",)
    context = h * len(directions)
    found = {"encoder.embedding.weight": (work.source_vocabulary, e),
             "decoder.embedding.weight": (u, e)}

    def gru(prefix, inputs):
        found[f"{prefix}weight_ih"] = (3 * h, inputs)
        found[f"{prefix}weight_hh"] = (3 * h, h)
        found[f"{prefix}bias_ih"] = (3 * h,)
        found[f"{prefix}bias_hh"] = (3 * h,)

    for layer in range(work.layers):
        for direction in directions:
            gru(f"encoder.rnn.{layer}.{direction}",
                e if layer == 0 else context)
        gru(f"decoder.rnn.{layer}.", context + e if layer == 0 else h)
    found["attention.w_q"] = (1, h, h)
    found["attention.w_k"] = (1, h, context)
    found["attention.w_v"] = (1, h)
    readout = h
    if work.bidirectional:
        found["decoder.bridge.weight"] = (h, context)
        found["decoder.bridge.bias"] = (h,)
        readout = h + context + e
    found["decoder.output.weight"] = (u, readout)
    found["decoder.output.bias"] = (u,)
    return found


def stand_in(work):
    """Weights for a run without Regard."""
    weights = {}
    for stream, (name, shape) in enumerate(shapes(work).items()):
        scale = 2 / np.sqrt(shape[-1])
        weights[name] = step_data.uniform(100 + stream, shape, scale)
    if work.kind == works.SEARCH:
        # Translations never end, so that all are of one length.
        weights["decoder.output.bias"][1:step_data.RESERVED] = -1e4
    return weights


def load(work, path):
    """Weights from `path`, or the stand-in where it is empty."""
    if not path:
        return stand_in(work)
    weights = load_file(path)
    for name, shape in shapes(work).items():
        if name not in weights or tuple(weights[name].shape) != shape:
            got = weights[name].shape if name in weights else "nothing"
            raise SystemExit(f"{path}: {name}: got {got}, wanted {shape}; "
                             f"it has {sorted(weights)}")
    return weights
