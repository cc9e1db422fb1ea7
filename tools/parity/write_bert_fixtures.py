#!/usr/bin/env python3
"""Writes reference results of BERT for the parity tests of language.

    pip install torch==2.13.0 transformers==5.23.0 numpy
    tools/parity/write_bert_fixtures.py .

transformers 5 has neither head masks nor relative positions. So this script
implements the layers itself, and compares them with transformers where
possible. See write_fixtures.py.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional
from transformers import (
    AutoTokenizer, BertConfig, BertForPreTraining,
    BertForSequenceClassification, BertModel)
from transformers.models.bert.modeling_bert import BertLayer

from write_fixtures import Fixture, project

WIDTH, HEADS, HIDDEN, MEMORY, EPSILON = 6, 2, 5, 5, 1e-12
LONGEST = 7


def config(**more):
    return BertConfig(
        vocab_size=11, hidden_size=WIDTH, num_hidden_layers=2,
        num_attention_heads=HEADS, intermediate_size=HIDDEN,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        max_position_embeddings=LONGEST, attn_implementation="eager", **more)


class Attention(nn.Module):
    """Multi-head attention of BERT, with relative positions."""

    def __init__(self, key_width, relative):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(key_width, WIDTH)
        self.value = nn.Linear(key_width, WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.relative = relative
        if relative:
            self.score = nn.Module()
            self.score.distance_embedding = nn.Parameter(
                torch.randn(2 * LONGEST - 1, WIDTH // HEADS))

    def forward(self, x, source, visible, head_mask=None):
        def split(y):
            return y.unflatten(-1, (HEADS, -1)).transpose(1, 2)

        query = split(self.query(x))
        key, value = split(self.key(source)), split(self.value(source))
        scores = query @ key.mT
        if self.relative:
            distance = torch.arange(x.shape[1])[:, None] - torch.arange(
                source.shape[1])
            position = self.score.distance_embedding[distance + LONGEST - 1]
            scores = scores + torch.einsum("bhld,lrd->bhlr", query, position)
            if self.relative == "relative_key_query":
                scores = scores + torch.einsum("bhrd,lrd->bhlr", key, position)
        scores = scores / (WIDTH // HEADS)**0.5
        weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
        if weights.requires_grad:
            weights.retain_grad()
        kept = weights if head_mask is None else (
            weights * head_mask[:, None, None])
        context = (kept @ value).transpose(1, 2).flatten(2)
        return self.output(context), weights


class Layer(nn.Module):

    def __init__(self, relative=None, memory=False):
        super().__init__()
        self.attention = Attention(WIDTH, relative)
        self.attention_norm = nn.LayerNorm(WIDTH, EPSILON)
        if memory:
            self.cross_attention = Attention(MEMORY, None)
            self.cross_attention_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.feed_forward = nn.Module()
        self.feed_forward.input = nn.Linear(WIDTH, HIDDEN)
        self.feed_forward.output = nn.Linear(HIDDEN, WIDTH)
        self.feed_forward_norm = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x, visible, head_mask=None, memory=None,
                memory_visible=None):
        y, weights = self.attention(x, x, visible, head_mask)
        maps = {"self": weights}
        x = self.attention_norm(x + y)
        if memory is not None:
            y, maps["cross"] = self.cross_attention(
                x, memory, memory_visible, head_mask)
            x = self.cross_attention_norm(x + y)
        y = self.feed_forward.output(
            functional.gelu(self.feed_forward.input(x)))
        return self.feed_forward_norm(x + y), maps


def spread(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.7)


def add_inputs(fixture, **inputs):
    for name, x in inputs.items():
        fixture.add(name, x)
        fixture.add("grad." + name, x.grad)


def add_map(fixture, name, weights, visible):
    """Adds weights and their gradients, which are 0 for masked weights."""
    fixture.add(name, weights)
    fixture.add("grad." + name, weights.grad * visible)


def lengths_visible(lengths, keys):
    return (torch.arange(keys) < lengths[:, None])[:, None, None]


def layer(relative=None, masked_heads=False):
    """Three sequences of 4 positions, of which 4, 1 and 3 are valid."""
    fixture = Fixture()
    module = Layer(relative)
    spread(module)
    x = torch.randn(3, 4, WIDTH, requires_grad=True)
    lengths = torch.tensor([4, 1, 3])
    visible = lengths_visible(lengths, 4)
    head_mask = None
    if masked_heads:
        head_mask = torch.tensor([0.0, 0.7], requires_grad=True)
    y, maps = module(x, visible, head_mask)
    if relative is None and head_mask is None:
        check_layer(module, x, visible, y)
    project(fixture, "y", y).backward()
    fixture.add("lengths", lengths)
    add_inputs(fixture, x=x)
    if masked_heads:
        add_inputs(fixture, head_mask=head_mask)
    add_map(fixture, "self", maps["self"], visible)
    fixture.add_gradients(module)
    return fixture


def check_layer(module, x, visible, y):
    """Checks that the layer above equals the layer of transformers."""
    theirs = BertLayer(config())
    names = {
        "attention.output": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "feed_forward.input": "intermediate.dense",
        "feed_forward.output": "output.dense",
        "feed_forward_norm": "output.LayerNorm"}
    state = {}
    for name, value in module.state_dict().items():
        part, kind = name.rsplit(".", 1)
        part = names.get(part, part.replace("attention.", "attention.self."))
        state[f"{part}.{kind}"] = value
    theirs.load_state_dict(state)
    mask = torch.zeros(visible.shape).masked_fill(~visible, float("-inf"))
    other = theirs(x, attention_mask=mask)
    other = other[0] if isinstance(other, tuple) else other
    assert torch.allclose(other, y, atol=1e-5), (other - y).abs().max()


def decoder(relative=None):
    """A causal layer with memories of 5 positions; 2, 5 and 1 are valid."""
    fixture = Fixture()
    module = Layer(relative, memory=True)
    spread(module)
    x = torch.randn(3, 4, WIDTH, requires_grad=True)
    memory = torch.randn(3, 5, MEMORY, requires_grad=True)
    lengths = torch.tensor([2, 5, 1])
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    memory_visible = lengths_visible(lengths, 5)
    y, maps = module(x, causal, None, memory, memory_visible)
    project(fixture, "y", y).backward()
    fixture.add("memory_lengths", lengths)
    add_inputs(fixture, x=x, memory=memory)
    add_map(fixture, "self", maps["self"], causal)
    add_map(fixture, "cross", maps["cross"], memory_visible)
    fixture.add_gradients(module)
    return fixture


PARTS = {
    "embeddings.word_embeddings": "embedding",
    "embeddings.position_embeddings": "position_embedding",
    "embeddings.token_type_embeddings": "type_embedding",
    "embeddings.LayerNorm": "embedding_norm",
    "encoder.layer.": "layers.",
    "attention.self.": "attention.",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "feed_forward.input",
    "output.dense": "feed_forward.output",
    "output.LayerNorm": "feed_forward_norm",
    "pooler.dense": "pooler",
    "cls.predictions.transform.dense": "head.transform",
    "cls.predictions.transform.LayerNorm": "head.norm",
    "cls.predictions.bias": "head.bias",
    "cls.seq_relationship": "next_sentence",
}


def add_renamed(fixture, module):
    seen = set()
    for name, parameter in module.named_parameters():
        name = name.removeprefix("bert.")
        if name == "cls.predictions.decoder.bias":
            name = "cls.predictions.bias"
        for theirs, ours in PARTS.items():
            name = name.replace(theirs, ours)
        if name in seen:
            continue
        seen.add(name)
        fixture.add("value." + name, parameter)
        fixture.add("grad." + name, parameter.grad)


def batch():
    lengths = torch.tensor([5, 2, 4])
    # Omits token 0, the padding, which has no gradient in transformers.
    return {
        "input_ids": torch.randint(1, 11, (3, 5)),
        "token_type_ids": torch.tensor(
            [[0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]]),
        "attention_mask": (torch.arange(5) < lengths[:, None]).long(),
    }, lengths


def model():
    """Hidden states, pooled states, and the attention of both layers."""
    fixture = Fixture()
    module = BertModel(config())
    spread(module)
    inputs, lengths = batch()
    output = module(**inputs, output_attentions=True)
    for weights in output.attentions:
        weights.retain_grad()
    total = project(fixture, "hidden", output.last_hidden_state)
    (total + project(fixture, "pooled", output.pooler_output)).backward()
    fixture.add("ids", inputs["input_ids"])
    fixture.add("types", inputs["token_type_ids"])
    fixture.add("lengths", lengths)
    visible = lengths_visible(lengths, 5)
    for i, weights in enumerate(output.attentions):
        add_map(fixture, f"self.{i}", weights, visible)
    add_renamed(fixture, module)
    return fixture


def pretraining():
    """The summed losses of masked words and next sentences."""
    fixture = Fixture()
    module = BertForPreTraining(config())
    spread(module)
    inputs, lengths = batch()
    output = module(**inputs)
    targets = torch.tensor([[-1, 4, -1, 9, -1], [2, -1, -1, -1, -1],
                            [-1, -1, 0, 10, -1]])
    follows = torch.tensor([0, 1, 1])
    words = functional.cross_entropy(
        output.prediction_logits.flatten(0, 1), targets.flatten(),
        ignore_index=-1, reduction="sum")
    sentences = functional.cross_entropy(
        output.seq_relationship_logits, follows, reduction="sum")
    (words + sentences).backward()
    fixture.add("ids", inputs["input_ids"])
    fixture.add("types", inputs["token_type_ids"])
    fixture.add("lengths", lengths)
    fixture.add("targets", targets)
    fixture.add("follows", follows)
    fixture.add("words", words)
    fixture.add("sentences", sentences)
    fixture.add("logits", output.prediction_logits)
    add_renamed(fixture, module)
    return fixture


TOKENS = """[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog bird s ##s sing ##ing
sleep see ##n old small . , ! ' caf ##e \u00e9 \u4e2d 1 2 ##2 who that"""
SENTENCES = [
    "The cats sing.", "the old dog's seen", "", "Caf\u00e9 \u4e2d 12!",
    "a bird that sleeps", "unknown words", "the cat [MASK]",
    " ".join(["the small bird"] * 12), "who sings?", "the cats sing."]


def save(kind, folder, longest, **more):
    """Writes a small model with its tokenizer to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = TOKENS.split()
    module = kind(BertConfig(
        vocab_size=len(vocabulary), hidden_size=8, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=32, **more))
    spread(module)
    with torch.no_grad():
        # With larger biases, the embeddings of all sentences would be nearly
        # equal.
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.mul_(0.2)
        for part in module.modules():
            if isinstance(part, nn.LayerNorm):
                part.weight.add_(1)
    module.eval()
    module.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizer", "do_lower_case": True,
        "model_max_length": longest}) + "\n")
    return module, AutoTokenizer.from_pretrained(folder)


LABELS = ["entails", "contradicts", "unrelated"]
WORDS = TOKENS.split()[5:10] + ["sings", "sleep", "seen", "small", ".", "1212"]


def classifier(folder):
    """A classifier of pairs: the logits of twenty pairs, some of which are
    truncated, the mean loss, and its gradients."""
    module, tokenizer = save(
        BertForSequenceClassification, folder, 16,
        id2label=dict(enumerate(LABELS)), classifier_dropout=0.2)
    generator = torch.Generator().manual_seed(2)

    def text(length):
        chosen = torch.randint(len(WORDS), (length,), generator=generator)
        return " ".join(WORDS[i] for i in chosen)

    # Pairs of texts of all lengths. The longest pairs are truncated.
    pairs = [(text(1 + i % 7), text(1 + i * 3 % 11)) for i in range(18)]
    pairs += [(text(20), text(3)), (text(12), text(12))]
    labels = torch.arange(20) * 7 % 3
    inputs = tokenizer(*zip(*pairs), truncation="longest_first", padding=True,
                       return_tensors="pt")
    output = module(**inputs, labels=labels)
    output.loss.backward()
    (folder / "pairs.tsv").write_text("".join(
        f"{LABELS[label]}\t{first}\t{second}\n"
        for label, (first, second) in zip(labels, pairs)))
    rows = [*output.logits, output.loss[None]]
    (folder / "logits.txt").write_text("".join(
        " ".join(repr(float(x)) for x in row.detach()) + "\n" for row in rows))
    gradients = folder / "gradients"
    gradients.mkdir(exist_ok=True)
    save_file({name: parameter.grad
               for name, parameter in module.named_parameters()},
              gradients / "model.safetensors")
    (gradients / "model.safetensors").chmod(0o644)


MASKED = [
    "the [MASK] sings.", "[MASK]", "a [MASK] bird [MASK] see!", "Caf\u00e9 [MASK]",
    "the cats sing\tthe [MASK] that sleeps", "a bird\t[MASK]"]
PAIRS = ["the cats sing\tthe dog sleeps", "a\tb", "\ta small cat",
         " ".join(["the small bird"] * 12) + "\tthe old dog"]


def words(folder):
    """A model of masked words and next sentences: the logits of each [MASK],
    and whether the second text of a pair follows."""
    module, tokenizer = save(BertForPreTraining, folder, 24)

    def output(text):
        inputs = tokenizer(*text.split("\t"), truncation="longest_first",
                           return_tensors="pt")
        with torch.no_grad():
            return inputs["input_ids"][0], module(**inputs)

    rows = []
    for text in MASKED:
        ids, got = output(text)
        rows += [*got.prediction_logits[0][ids == tokenizer.mask_token_id]]
    for text in PAIRS:
        rows.append(output(text)[1].seq_relationship_logits[0])
    (folder / "masked.txt").write_text("\n".join(MASKED) + "\n")
    (folder / "pairs.txt").write_text("\n".join(PAIRS) + "\n")
    (folder / "logits.txt").write_text("".join(
        " ".join(repr(float(x)) for x in row) + "\n" for row in rows))


def pretrained(folder):
    """A model with sentence embeddings as sentence-transformers computes them."""
    module, tokenizer = save(BertModel, folder, 24)
    (folder / "sentences.txt").write_text("\n".join(SENTENCES) + "\n")
    lines = []
    for sentence in SENTENCES:
        inputs = tokenizer(sentence, truncation=True, return_tensors="pt")
        with torch.no_grad():
            mean = module(**inputs).last_hidden_state[0].mean(0)
        vector = functional.normalize(mean, dim=0)
        lines.append(" ".join(repr(float(x)) for x in vector))
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1]) / "language/testdata"
    folder.mkdir(parents=True, exist_ok=True)
    cases = {
        "bert_layer": layer,
        "bert_layer_relative_key": lambda: layer("relative_key"),
        "bert_layer_relative_key_query": lambda: layer("relative_key_query"),
        "bert_layer_head_mask": lambda: layer("relative_key", True),
        "bert_decoder": decoder,
        "bert_decoder_relative_key": lambda: decoder("relative_key"),
        "bert_decoder_relative_key_query":
            lambda: decoder("relative_key_query"),
        "bert_model": model,
        "bert_pretraining": pretraining,
    }
    for name, case in cases.items():
        torch.manual_seed(1)
        case().write(folder / (name + ".txt"))
    torch.manual_seed(1)
    folders = pathlib.Path(sys.argv[1]) / "pretrained/testdata"
    pretrained(folders / "bert")
    torch.manual_seed(1)
    classifier(folders / "bert_classifier")
    torch.manual_seed(1)
    words(folders / "bert_words")


if __name__ == "__main__":
    main()
