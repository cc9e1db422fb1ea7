"""Regard's weights as models of CTranslate2, in its folders."""

import numpy as np
import step_data
from ctranslate2 import specs


def _set_linear(spec, weights, prefix, parts):
    """One product of the inputs' projections `parts`."""
    def joined(kind):
        return np.concatenate([weights[f"{prefix}{part}.{kind}"]
                               for part in parts])

    spec.weight = joined("weight")
    if f"{prefix}{parts[0]}.bias" in weights:
        spec.bias = joined("bias")


def _set_norm(spec, weights, name):
    spec.gamma = weights[f"{name}.weight"]
    spec.beta = weights[f"{name}.bias"]


def _set_layers(layers, weights, prefix):
    for i, layer in enumerate(layers):
        name = f"{prefix}layers.{i}."
        attention = layer.self_attention
        _set_linear(attention.linear[0], weights, f"{name}attention.",
                    ("query", "key", "value"))
        _set_linear(attention.linear[1], weights, f"{name}attention.",
                    ("output",))
        _set_norm(attention.layer_norm, weights, f"{name}attention_norm")
        if hasattr(layer, "attention"):
            cross = layer.attention
            for linear, parts in zip(cross.linear, (
                    ("query",), ("key", "value"), ("output",))):
                _set_linear(linear, weights, f"{name}cross_attention.", parts)
            _set_norm(cross.layer_norm, weights, f"{name}cross_attention_norm")
        _set_linear(layer.ffn.linear_0, weights, f"{name}feed_forward.",
                    ("input",))
        _set_linear(layer.ffn.linear_1, weights, f"{name}feed_forward.",
                    ("output",))
        _set_norm(layer.ffn.layer_norm, weights, f"{name}feed_forward_norm")


def tokens(ids):
    """Words for ids; CTranslate2 looks its special ones up by their names."""
    special = ("<unk>", "<blank>", "<s>", "</s>")
    return [special[i] if i < len(special) else f"w{i}" for i in ids]


def _save(spec, folder):
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(folder)


def save_translator(work, weights, folder):
    """The encoder and decoder of a TRANSFORMER_SEARCH."""
    spec = specs.TransformerSpec.from_config(work.layers, work.heads,
                                             pre_norm=False)
    positions = step_data.sinusoids(max(work.source_time, work.target_time),
                                    work.hidden)
    for side, embeddings, prefix in (
            (spec.encoder, spec.encoder.embeddings[0], "encoder."),
            (spec.decoder, spec.decoder.embeddings, "decoder.")):
        embeddings.weight = weights[f"{prefix}embedding.weight"]
        side.position_encodings.encodings = positions
        _set_layers(side.layer, weights, prefix)
    _set_linear(spec.decoder.projection, weights, "decoder.", ("output",))
    spec.register_source_vocabulary(tokens(range(work.source_vocabulary)))
    spec.register_target_vocabulary(tokens(range(work.target_vocabulary)))
    _save(spec, folder)


def save_encoder(work, weights, tuned, folder):
    """A BERT. In the tuned form the one type of tokens is in the positions."""
    positions = weights["position_embedding.weight"]
    types = weights["type_embedding.weight"]
    encoder = specs.TransformerEncoderSpec(
        work.layers, work.heads, pre_norm=False,
        activation=specs.Activation.GELU, layernorm_embedding=True,
        num_source_embeddings=1 if tuned else 2,
        embeddings_merge=specs.EmbeddingsMerge.ADD)
    encoder.scale_embeddings = False
    encoder.embeddings[0].weight = weights["embedding.weight"]
    if tuned:
        positions = positions + types[0]
    else:
        encoder.embeddings[1].weight = types
    encoder.position_encodings.encodings = positions
    _set_norm(encoder.layernorm_embedding, weights, "embedding_norm")
    _set_layers(encoder.layer, weights, "")
    spec = specs.TransformerEncoderModelSpec(encoder)
    spec.config.layer_norm_epsilon = 1e-12
    spec.register_vocabulary(tokens(range(work.source_vocabulary)))
    _save(spec, folder)
