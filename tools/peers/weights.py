"""Weights of a workload, from a safetensors file of Regard, or random."""

import numpy as np
import step_data
import works
from safetensors.numpy import load_file


def _stack(prefix, work, cross, bias, attention_bias=False):
    """Returns the parameters of a stack of Transformer layers."""
    h, f = work.hidden, work.feed_forward
    found = {}

    def linear(name, outputs, inputs, bias):
        found[f"{name}.weight"] = (outputs, inputs)
        if bias:
            found[f"{name}.bias"] = (outputs,)

    def norm(name):
        found[f"{name}.weight"] = (h,)
        if bias:
            found[f"{name}.bias"] = (h,)

    for layer in range(work.layers):
        of_layer = f"{prefix}layers.{layer}."
        for attention in (("attention", "cross_attention") if cross
                          else ("attention",)):
            for part in ("query", "key", "value", "output"):
                linear(f"{of_layer}{attention}.{part}", h, h, attention_bias)
            norm(f"{of_layer}{attention}_norm")
        linear(f"{of_layer}feed_forward.input", f, h, bias)
        linear(f"{of_layer}feed_forward.output", h, f, bias)
        norm(f"{of_layer}feed_forward_norm")
    return found


def shapes(work):
    """Returns names and shapes of the parameters, in PyTorch's layouts."""
    h = work.hidden
    if work.kind in (works.TRANSFORMER, works.TRANSFORMER_SEARCH):
        return {"encoder.embedding.weight": (work.source_vocabulary, h),
                **_stack("encoder.", work, cross=False, bias=True),
                "decoder.embedding.weight": (work.target_vocabulary, h),
                **_stack("decoder.", work, cross=True, bias=True),
                "decoder.output.weight": (work.target_vocabulary, h),
                "decoder.output.bias": (work.target_vocabulary,)}
    if work.kind in (works.IMAGE, works.CLASSIFICATION):
        patches = (work.source_time // work.patch)**2
        return {"encoder.patch_embedding.weight":
                (h, work.channels * work.patch**2),
                "encoder.patch_embedding.bias": (h,),
                "encoder.class_token": (h,),
                "encoder.position_embedding.weight": (patches + 1, h),
                **_stack("encoder.", work, cross=False, bias=True,
                         attention_bias=work.kind == works.CLASSIFICATION),
                "encoder.norm.weight": (h,),
                "encoder.norm.bias": (h,),
                "head.weight": (work.target_vocabulary, h),
                "head.bias": (work.target_vocabulary,)}
    if work.kind == works.EMBEDDING:
        return {"embedding.weight": (work.source_vocabulary, h),
                "position_embedding.weight": (512, h),
                "type_embedding.weight": (2, h),
                "embedding_norm.weight": (h,),
                "embedding_norm.bias": (h,),
                **_stack("", work, cross=False, bias=True,
                         attention_bias=True)}
    if work.kind == works.CONTINUATION:
        return {"embedding.weight": (work.target_vocabulary, h),
                "position_embedding.weight": (1024, h),
                **_stack("", work, cross=False, bias=True,
                         attention_bias=True),
                "norm.weight": (h,),
                "norm.bias": (h,)}
    if work.kind in (works.LANGUAGE_MODEL, works.GENERATION):
        return {"embedding.weight": (work.target_vocabulary, h),
                "position_embedding.weight": (work.target_time, h),
                **_stack("", work, cross=False, bias=False),
                "norm.weight": (h,)}
    if work.kind == works.REGRESSION:
        return {"attention.w": (1, 1)}
    if work.kind == works.ADDITIVE:
        return {"w_q": (1, h, h), "w_k": (1, h, h), "w_v": (1, h)}
    if work.kind == works.MULTI_HEAD:
        return {f"{name}.{part}": (h, h) if part == "weight" else (h,)
                for name in ("query", "key", "value", "output")
                for part in ("weight", "bias")}
    if work.kind in (works.OVERHEAD, works.ATTENTION,
                     works.ATTENTION_FORWARD):
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
    """Returns random weights for a run without Regard."""
    weights = {}
    for stream, (name, shape) in enumerate(shapes(work).items()):
        scale = 2 / np.sqrt(shape[-1])
        weights[name] = step_data.uniform(100 + stream, shape, scale)
    if work.kind in works.TRANSLATING:
        # Prevents <eos>, so that all translations have the same length.
        weights["decoder.output.bias"][1:step_data.RESERVED] = -1e4
    return weights


def load(work, path):
    """Returns weights from `path`, or random weights if it is empty."""
    if not path:
        return stand_in(work)
    weights = load_file(path)
    for name, shape in shapes(work).items():
        if name not in weights or tuple(weights[name].shape) != shape:
            got = weights[name].shape if name in weights else "nothing"
            raise SystemExit(f"{path}: {name}: got {got}, wanted {shape}; "
                             f"it has {sorted(weights)}")
    return weights
