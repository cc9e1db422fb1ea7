#!/usr/bin/env python3
"""Writes folders of random models with the installed transformers, 4 or 5.

The check_*.py in this directory read them; check_vit.py makes its own.

    pip install torch transformers tokenizers pillow sentence-transformers
    tools/parity/write_random_folders.py OUT

OUT contains bert, gpt2 and blip in two shapes each. It also contains embedders
of sentence-transformers for each pooling, normalized and not. Tokenizers are
stored as this version saves them, or as in the published folders. In addition,
there are texts (texts.txt, pairs.tsv) and images of all kinds.
"""

import json
import pathlib
import random
import sys

import numpy
from PIL import Image
from sentence_transformers import SentenceTransformer, models
import torch
from torch import nn
from transformers import (
    AutoTokenizer, BertConfig, BertForMaskedLM, BertForPreTraining,
    BertForSequenceClassification, BertModel, BertTokenizerFast,
    GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast)

from image_processors import BlipImageProcessorPil
from write_bert_fixtures import TOKENS
from write_blip_fixtures import VOCABULARY, make
from write_gpt2_fixtures import CORPUS, END, random_model, tokenizer

LABELS = ["entails", "contradicts", "unrelated"]
BERTS = [
    {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
     "intermediate_size": 48, "max_position_embeddings": 64},
    {"hidden_size": 20, "num_hidden_layers": 1, "num_attention_heads": 5,
     "intermediate_size": 24, "max_position_embeddings": 40,
     "hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "type_vocab_size": 3,
     "hidden_dropout_prob": 0.0}]
GPT2S = [
    {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 96},
    {"n_embd": 15, "n_layer": 3, "n_head": 3, "n_positions": 64, "n_inner": 20,
     "activation_function": "gelu", "tie_word_embeddings": False}]
BLIPS = [
    ({"hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
      "num_attention_heads": 4, "image_size": 12, "patch_size": 4},
     {"hidden_size": 6, "intermediate_size": 7, "num_hidden_layers": 2,
      "num_attention_heads": 2, "max_position_embeddings": 40}),
    ({"hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 1,
      "num_attention_heads": 2, "image_size": 32, "patch_size": 8,
      "hidden_act": "gelu_new"},
     {"hidden_size": 24, "intermediate_size": 30, "num_hidden_layers": 3,
      "num_attention_heads": 3, "max_position_embeddings": 48})]


def spread(module):
    """Sets all parameters to values that affect the result."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.1 if parameter.dim() == 1 else 0.5)
        for part in module.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight.add_(1)
    return module.eval()


def write_bert(folder, kind, saved, sizes, vocabulary, **more):
    """Writes a BERT. Its tokenizer is as transformers saves it, or as published."""
    folder.mkdir(parents=True)
    spread(kind(BertConfig(
        vocab_size=len(vocabulary), **sizes, **more))).save_pretrained(folder)
    write_wordpiece(folder, vocabulary)
    if saved:
        made = BertTokenizerFast.from_pretrained(folder)
        for name in ("vocab.txt", "tokenizer_config.json"):
            (folder / name).unlink()
        made.save_pretrained(folder)


def write_wordpiece(folder, vocabulary):
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "do_lower_case": True,
        "model_max_length": 32}) + "\n")


def write_embedder(folder, encoder, pooling, normalize):
    """Writes a model of sentence-transformers that contains a BERT folder."""
    modules = [models.Transformer(str(encoder), max_seq_length=24)]
    modules.append(models.Pooling(
        BERTS[0]["hidden_size"], pooling_mode=pooling))
    if normalize:
        modules.append(models.Normalize())
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))


def write_gpt2(folder, saved, vocabulary, sizes):
    folder.mkdir(parents=True)
    made = tokenizer(vocabulary)
    end = made.token_to_id(END)
    random_model(GPT2Config(
        vocab_size=made.get_vocab_size(), bos_token_id=end, eos_token_id=end,
        **sizes)).save_pretrained(folder)
    made.save_model(str(folder))
    if saved:
        fast = GPT2TokenizerFast.from_pretrained(folder)
        fast.save_pretrained(folder)


def write_blip(folder, vision, text):
    folder.mkdir(parents=True)
    begin = len(VOCABULARY)
    make(vision, {"vocab_size": begin + 2, "bos_token_id": begin, **text}
         ).save_pretrained(folder)
    write_wordpiece(folder, VOCABULARY)
    side = vision["image_size"]
    BlipImageProcessorPil(size={"height": side, "width": side}
                          ).save_pretrained(folder)


def write_texts(folder, source):
    words = [token for token in TOKENS.split() if token.isalpha()]
    words += ["sings", "Birds", "12", "unknown", "caf\u00e9", "dogs'"]

    def text():
        return " ".join(source.choices(words, k=source.randint(1, 12)))

    lines = [source.choice(CORPUS).strip() for _ in range(20)]
    lines += [text() for _ in range(180)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    (folder / "pairs.tsv").write_text("".join(
        "\t".join([source.choice(LABELS), text()] + [text()] * (i % 3 > 0))
        + "\n" for i in range(100)))


def write_images(folder):
    folder.mkdir()
    source = numpy.random.default_rng(1)
    for i in range(20):
        shape = (int(source.integers(9, 60)),) * 2
        shape += [(3,), (), (4,)][i % 3]
        Image.fromarray(source.integers(0, 256, shape, dtype=numpy.uint8)
                        ).save(folder / f"{i}.png")


def main():
    root = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    for i, sizes in enumerate(BERTS):
        saved = i > 0
        write_bert(
            root / f"bert_{i}", BertModel, saved, sizes, TOKENS.split())
        write_bert(
            root / f"bert_classifier_{i}", BertForSequenceClassification, saved,
            sizes, TOKENS.split(), id2label=dict(enumerate(LABELS)),
            label2id={label: j for j, label in enumerate(LABELS)})
        write_bert(
            root / f"bert_masked_{i}", BertForMaskedLM, saved, sizes,
            TOKENS.split())
        write_bert(
            root / f"bert_pretraining_{i}", BertForPreTraining, saved, sizes,
            TOKENS.split())
    for pooling in ("mean", "cls", "max"):
        for normalize in (False, True):
            write_embedder(root / f"embedder_{pooling}_{int(normalize)}",
                           root / "bert_0", pooling, normalize)
    for i, sizes in enumerate(GPT2S):
        write_gpt2(root / f"gpt2_{i}", i > 0, 300 - 10 * i, sizes)
    for i, (vision, text) in enumerate(BLIPS):
        write_blip(root / f"blip_{i}", vision, text)
    for folder in sorted(root.glob("[bg]*_[01]")):
        AutoTokenizer.from_pretrained(folder)
    write_texts(root, random.Random(1))
    write_images(root / "images")


if __name__ == "__main__":
    main()
