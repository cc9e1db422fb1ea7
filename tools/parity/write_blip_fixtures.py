#!/usr/bin/env python3
"""Writes reference results of BLIP for the tests of vision and pretrained.

    pip install torch==2.13.0 transformers==5.24.0 numpy pillow==12.0.0
    tools/parity/write_blip_fixtures.py .

Pillow 13 resizes rows before columns if that is less work, which changes
pixels. transformers 5 puts transparent images on white; this script drops the
alpha channel. See write_fixtures.py.
"""

import json
import pathlib
import sys

from PIL import Image
import torch
from torch import nn
from torch.nn import functional
from transformers import (
    BertTokenizer, BlipConfig, BlipForConditionalGeneration)

from image_processors import BlipImageProcessorPil
from write_fixtures import Fixture, project
from write_transformer_fixtures import add, add_linear

PAD, UNKNOWN, SEP = 0, 1, 3


def make(vision, text):
    """Makes a BLIP whose weights affect the result, and whose sentences end."""
    text = {
        "pad_token_id": PAD, "sep_token_id": SEP,
        "eos_token_id": SEP, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, **text}
    module = BlipForConditionalGeneration(BlipConfig(
        vision_config=vision, text_config=text)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            # With larger biases and large word embeddings, every sentence would
            # repeat one word.
            parameter.normal_(std=0.4 if parameter.dim() > 1 else 0.1)
        for part in module.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight.add_(1)
        embeddings = module.text_decoder.bert.embeddings
        embeddings.position_embeddings.weight.mul_(2)
        words = embeddings.word_embeddings.weight
        words.copy_(2 * functional.normalize(words))
    return module


def add_named(fixture, prefix, ours_to_theirs):
    for name, part in ours_to_theirs.items():
        add_linear(fixture, prefix + name, part)


def add_vision(fixture, prefix, module):
    """Adds the weights, with fused projections; see parity_test.cc."""
    embeddings = module.embeddings
    convolution = embeddings.patch_embedding
    add(fixture, prefix + "patch_embedding.weight",
        convolution.weight.flatten(1), convolution.weight.grad.flatten(1))
    add(fixture, prefix + "patch_embedding.bias", convolution.bias,
        convolution.bias.grad)
    add(fixture, prefix + "class_token", embeddings.class_embedding[0, 0],
        embeddings.class_embedding.grad[0, 0])
    add(fixture, prefix + "position_embedding.weight",
        embeddings.position_embedding[0],
        embeddings.position_embedding.grad[0])
    for i, layer in enumerate(module.encoder.layers):
        of_layer = f"{prefix}layers.{i}."
        for kind, fused in layer.self_attn.qkv.named_parameters():
            fixture.add(f"fused.{of_layer}attention.{kind}", fused)
            for part, grad in zip(
                    ["query", "key", "value"], fused.grad.chunk(3)):
                fixture.add(f"grad.{of_layer}attention.{part}.{kind}", grad)
        add_named(fixture, of_layer, {
            "attention_norm": layer.layer_norm1,
            "attention.output": layer.self_attn.projection,
            "feed_forward_norm": layer.layer_norm2,
            "feed_forward.input": layer.mlp.fc1,
            "feed_forward.output": layer.mlp.fc2})
    add_linear(fixture, prefix + "norm", module.post_layernorm)


def add_text_attention(fixture, prefix, module):
    add_named(fixture, prefix, {
        ".query": module.self.query, ".key": module.self.key,
        ".value": module.self.value, ".output": module.output.dense,
        "_norm": module.output.LayerNorm})


def add_decoder(fixture, prefix, module):
    embeddings = module.bert.embeddings
    add_named(fixture, prefix, {
        "embedding": embeddings.word_embeddings,
        "position_embedding": embeddings.position_embeddings,
        "embedding_norm": embeddings.LayerNorm})
    for i, layer in enumerate(module.bert.encoder.layer):
        of_layer = f"{prefix}layers.{i}."
        add_text_attention(fixture, of_layer + "attention", layer.attention)
        add_text_attention(fixture, of_layer + "cross_attention",
                           layer.crossattention)
        add_named(fixture, of_layer, {
            "feed_forward.input": layer.intermediate.dense,
            "feed_forward.output": layer.output.dense,
            "feed_forward_norm": layer.output.LayerNorm})
    predictions = module.cls.predictions
    add_named(fixture, prefix + "output.", {
        "transform": predictions.transform.dense,
        "norm": predictions.transform.LayerNorm})
    add(fixture, prefix + "output.bias", predictions.decoder.bias,
        predictions.decoder.bias.grad)


def generate(module, pixels, prompt, beams, shortest):
    """Returns the ids after the prompt and before the end, one sentence per
    image. Excludes padding and the beginning, as Regard does."""
    begin = module.config.text_config.bos_token_id
    rows = module.generate(
        pixels, torch.tensor([[begin] + prompt + [SEP]] * len(pixels)),
        num_beams=beams, min_new_tokens=shortest, max_new_tokens=LONGEST,
        length_penalty=0.0, do_sample=False, suppress_tokens=[PAD, begin])
    sentences = []
    for row in rows.tolist():
        row = row[1 + len(prompt):]
        ended = SEP in row
        sentences.append((row[:row.index(SEP)] if ended else row, ended))
    return sentences


def blip_case(vision, text):
    """Two images with two sentences, in double precision, because float
    gradients would differ by more than 1e-5. Then sentences of six images."""
    fixture = Fixture()
    module = make(vision, text).double()
    size = vision["image_size"]
    x = torch.randn(2, 3, size, size).double().requires_grad_(True)
    begin, vocabulary = text["bos_token_id"], text["vocab_size"]
    ids = torch.tensor([[begin, 5, 4, 6], [begin, 5, vocabulary - 1, 7]])
    tokens = module.vision_model(x).last_hidden_state
    hidden = module.text_decoder.bert(
        ids, encoder_hidden_states=tokens, is_decoder=True).last_hidden_state
    logits = module(pixel_values=x, input_ids=ids).logits
    fixture.add("tokens", tokens)
    fixture.add("hidden", hidden)
    project(fixture, "y", logits).backward()
    fixture.add("ids", ids)
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_vision(fixture, "encoder.", module.vision_model)
    add_decoder(fixture, "decoder.", module.text_decoder)
    module.float()
    with torch.no_grad():
        # Makes the end token probable, so that sentences end after some words.
        module.text_decoder.cls.predictions.decoder.bias[SEP] += END
    fixture.add("end", END)
    images = torch.randn(6, 3, size, size)
    fixture.add("images", images)
    for number, prompt in enumerate([[], [5, 4]]):
        fixture.add(f"prompt.{number}", torch.tensor(prompt, dtype=torch.int))
        for beams in (1, 3):
            for i, (sentence, ended) in enumerate(
                    generate(module, images, prompt, beams, SHORTEST)):
                fixture.add(f"ended.{number}.{beams}.{i}", ended)
                fixture.add(f"sentence.{number}.{beams}.{i}",
                            torch.tensor(sentence, dtype=torch.int))
    return fixture


END = 2.5
SHORTEST, LONGEST = 3, 14

# Models and their seeds. With these seeds, sentences have several words and
# different lengths.
CASES = {
    # Three patches per side. The decoder is narrower than the encoder.
    "blip": (
        2,
        {"hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "image_size": 6, "patch_size": 2,
         "hidden_act": "gelu", "layer_norm_eps": 1e-5},
        {"hidden_size": 6, "intermediate_size": 7, "num_hidden_layers": 2,
         "num_attention_heads": 2, "vocab_size": 14, "bos_token_id": 12,
         "max_position_embeddings": 20, "hidden_act": "gelu"}),
    "blip_wide": (
        16,
        {"hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1,
         "num_attention_heads": 1, "image_size": 8, "patch_size": 4,
         "hidden_act": "gelu", "layer_norm_eps": 1e-6},
        {"hidden_size": 9, "intermediate_size": 12, "num_hidden_layers": 3,
         "num_attention_heads": 3, "vocab_size": 11, "bos_token_id": 10,
         "max_position_embeddings": 20, "hidden_act": "gelu",
         "layer_norm_eps": 1e-12}),
}


VOCABULARY = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "picture", "of", "cat",
    "dog", "##s", "on", "the", "mat", "red", "##dish", "and", ".", ",", "'"]
PROMPTS = ["", "A picture of", "the zebra, a"]


def write_images(folder):
    """Writes images of three kinds, whose sizes differ from the model's."""
    generator = torch.Generator().manual_seed(1)

    def pixels(*shape):
        return torch.randint(
            0, 256, shape, generator=generator, dtype=torch.uint8).numpy()

    images = {"rgb.png": pixels(9, 14, 3), "grey.png": pixels(15, 8),
              "alpha.png": pixels(10, 10, 4)}
    for name, array in images.items():
        Image.fromarray(array).save(folder / name)
    return sorted(images)


def pretrained(folder):
    """Writes a complete folder, and lines
    "PROMPT<TAB>BEAMS<TAB>IMAGE<TAB>SENTENCE"."""
    folder.mkdir(parents=True, exist_ok=True)
    begin = len(VOCABULARY)
    module = make(
        {"hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "image_size": 12, "patch_size": 4},
        {"hidden_size": 6, "intermediate_size": 7, "num_hidden_layers": 2,
         "num_attention_heads": 2, "vocab_size": begin + 2,
         "bos_token_id": begin, "max_position_embeddings": 24})
    module.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "generation_config.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "do_lower_case": True}) + "\n")
    tokenizer = BertTokenizer.from_pretrained(folder)
    images = BlipImageProcessorPil(size={"height": 12, "width": 12})
    images.save_pretrained(folder)
    lines = []
    for name in write_images(folder):
        image = Image.open(folder / name).convert("RGB")
        pixels = images(image, return_tensors="pt")
        for prompt in PROMPTS:
            ids = tokenizer(prompt).input_ids[1:-1]
            for beams in (1, 3):
                sentence, ended = generate(
                    module, pixels["pixel_values"], ids, beams, 0)[0]
                if beams > 1 and not ended:
                    continue
                text = tokenizer.decode(
                    [begin] + ids + sentence, skip_special_tokens=True)
                lines.append(f"{prompt}\t{beams}\t{name}\t{text}")
    (folder / "captions.txt").write_text("\n".join(lines) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    for name, (seed, vision, text) in CASES.items():
        torch.manual_seed(seed)
        blip_case(vision, text).write(root / f"vision/testdata/{name}.txt")
    torch.manual_seed(17)
    pretrained(root / "pretrained/testdata/blip")


if __name__ == "__main__":
    main()
