"""Writes Regard's weights as a model of CTranslate2 to a folder."""

import contender
import numpy as np
import step_data
import weights as weights_of
import works
from ctranslate2 import specs


def _set_linear(spec, weights, prefix, parts):
    """Combines the projections `parts` of the input into one matrix product."""
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


def _save(spec, folder):
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(folder)


def _save_translator(work, weights, folder):
    """Writes the encoder and decoder of a TRANSFORMER_SEARCH."""
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
    spec.register_source_vocabulary(
        step_data.tokens(range(work.source_vocabulary)))
    spec.register_target_vocabulary(
        step_data.tokens(range(work.target_vocabulary)))
    _save(spec, folder)


def _save_encoder(work, weights, tuned, folder):
    """Writes a BERT. The tuned form adds the only token type to positions."""
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
    spec.register_vocabulary(step_data.tokens(range(work.source_vocabulary)))
    _save(spec, folder)


def _save_generator(work, weights, folder):
    """Writes a GPT-2."""
    spec = specs.TransformerDecoderModelSpec.from_config(
        work.layers, work.heads, pre_norm=True,
        activation=specs.Activation.GELUTanh)
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = weights["embedding.weight"]
    decoder.position_encodings.encodings = weights["position_embedding.weight"]
    decoder.projection.weight = weights["embedding.weight"]
    _set_norm(decoder.layer_norm, weights, "norm")
    _set_layers(decoder.layer, weights, "")
    spec.register_vocabulary(step_data.tokens(range(work.target_vocabulary)))
    _save(spec, folder)


def main():
    arguments = contender.parse_arguments(path=True)
    work = works.by_name(arguments.work)
    weights = weights_of.load(work, arguments.weights)
    if work.kind == works.EMBEDDING:
        _save_encoder(work, weights, arguments.form.startswith("tuned"),
                      arguments.path)
    elif work.kind == works.CONTINUATION:
        _save_generator(work, weights, arguments.path)
    else:
        _save_translator(work, weights, arguments.path)


if __name__ == "__main__":
    main()
