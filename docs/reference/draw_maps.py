#!/usr/bin/env python3
"""Draws the attention maps of docs/reference/mechanisms.md.

    docs/reference/draw_maps.py REGARD FOLDER

REGARD is the program //tools:regard. The script trains one small model for each
mechanism, with runs in FOLDER, and reads the weights that `regard inspect`
reports. The script resumes a run that is not finished, and does not train a
finished run again. `bazel run //docs/reference:renew` then adds the pictures
to the page.
"""

import json
import os
import subprocess
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))

# A translation model with one attention layer, from French words to English
# words.
_SENTENCE = "paul is not watching this owl ."
_TRANSLATION = "paul ne regarde pas ce hibou ."
_TRANSLATION_TRAINING = [
    "data.phrasebook.train=8000", "training.epochs=4", "baseline.override=[]"
]
_ADDITIVE = "additive { width: 64 }"

# Language model: a line whose last eleven words occurred before.
_LINE = ("19 25 30 27 3 1 4 15 9 2 6 5 8 7 10 11 20 17 "
         "3 1 4 15 9 2 6 5 8 7 10")
_REPEAT = 13  # distance back to the word after the earlier occurrence
_FIRST = 19  # first position of a repeated word, with <bos> at 0
_LANGUAGE_MODEL_TRAINING = [
    "training.epochs=3", "training.checkpoint_every=0",
    "training.keep_checkpoints=1"
]
_ROTARY = "position_encoding { rotary {} }"
_NO_POSITION = "position_encoding { none {} }"


def translation(name, attention):
    return name, [f"model.attention={{{attention}}}"]


def language_model(name, layer):
    return name, [f"model.language_model.transformer.{layer}"]


def attention(name, fields):
    return language_model(name, f"attention.attention={{{fields}}}")


def with_rotary(name, fields):
    return attention(name, f"scaled_dot {{}} {_ROTARY} {fields}")


def multi_head(name, fields):
    """Returns a model with these fields of multi-head attention."""
    return language_model(
        name, f"attention={{heads: 2 attention {{ scaled_dot {{}} {_ROTARY} }} "
        f"{fields}}}")


def mixer(name, fields):
    return language_model(name, f"mixer={{{name} {{{fields}}}}}")


SCORES = [translation(name, f"{name} {{{options}}}") for name, options in (
    ("average", ""),
    ("kernel", "width: 4"),
    ("gaussian", ""),
    ("parametric_gaussian", ""),
    ("dot", ""),
    ("scaled_dot", ""),
    ("additive", "width: 64"),
    ("concat", "width: 64"),
    ("bilinear", ""),
    ("scaled_bilinear", ""),
    ("cosine", ""),
    ("location", ""),
    ("coverage", "width: 64"),
    ("location_aware", "width: 64"),
    ("formula", 'score: "v . tanh(W q + U k)" width: 64'),
)]

NORMALIZERS = [
    translation(name, f"{_ADDITIVE} normalizer {{ {name} {{}} }}")
    for name in ("softmax", "sparsemax", "entmax15", "sigmoid",
                 "scalable_softmax", "log_length", "relu_squared")
]

SELF_ATTENTION = [
    with_rotary("rotary", ""),
    attention("alibi", "scaled_dot {} position_encoding { alibi {} }"),
    attention("relative_buckets",
              "scaled_dot {} position_encoding { relative_buckets {} }"),
    attention("relative_dot", f"relative_dot {{}} {_NO_POSITION}"),
    attention("forget", f"scaled_dot {{}} {_NO_POSITION} forget {{}}"),
    with_rotary("sink", "sink {}"),
    with_rotary("soft_cap", "map_before { soft_cap {} }"),
    with_rotary("top_k", "map_before { top_k { keys: 4 } }"),
    with_rotary("talking_heads", "map_before { talking_heads {} }"),
    with_rotary("moba", "selection { moba { block_size: 4 top_k: 3 } }"),
    with_rotary("nsa_blocks",
                "selection { nsa_blocks { block_size: 4 top_n: 3 } }"),
    multi_head("query_key_norm", "query_key_norm {}"),
    language_model("latent", "attention={attention { scaled_dot {} "
                   f"{_NO_POSITION} }} latent {{}}}}"),
    multi_head("gate", "head_output { gate {} }"),
    multi_head("norm", "head_output { norm {} }"),
    multi_head("differential", "head_output { differential {} }"),
    mixer("linear_attention", "heads: 2"),
    mixer("retention", "heads: 2"),
    mixer("gated_linear", "heads: 2"),
    mixer("mamba2", "heads: 2"),
    mixer("delta_net", "heads: 2"),
    mixer("gated_delta", "heads: 2"),
    mixer("kda", "heads: 2"),
]


def trained(regard, run, config, overrides):
    """Trains a run unless it is finished, and returns its metrics."""
    status = os.path.join(run, "status.json")
    if os.path.exists(status):
        with open(status, encoding="utf-8") as file:
            if (read := json.load(file))["state"] == "finished":
                return read["metrics"]
    subprocess.run(
        [regard, "train", f"--config={_ROOT}/configs/{config}.textproto",
         f"--run={run}", "--resume", "--threads=1"] +
        [f"--set={override}" for override in overrides],
        check=True, stdout=subprocess.DEVNULL)
    with open(status, encoding="utf-8") as file:
        return json.load(file)["metrics"]


def maps(regard, run, *arguments):
    printed = subprocess.run(
        [regard, "inspect", f"--run={run}", "--json", *arguments], check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(printed.stdout)["maps"]


def mean_weight(rows, columns_of):
    """Returns the mean fraction of row i's absolute weight at columns_of(i)."""
    fractions = [
        abs(row[columns_of(i)]) / (sum(map(abs, row)) or 1)
        for i, row in enumerate(rows) if i >= _FIRST
    ]
    return sum(fractions) / len(fractions)


def cells(rows, size, left, top):
    """Draws a map as SVG. Darker cells have more of the weight of their row."""
    shades = {}
    for i, row in enumerate(rows):
        largest = max(map(abs, row)) or 1
        j = 0
        while j < len(row):
            shade = round(row[j] / largest * 8)
            k = j
            while k < len(row) and round(row[k] / largest * 8) == shade:
                k += 1
            if shade:
                shades.setdefault(shade, []).append(
                    f"M{left + j * size:g} {top + i * size:g}"
                    f"h{(k - j) * size:g}v{size:g}h-{(k - j) * size:g}z")
            j = k
    return "".join(
        f'<path fill="{"#1f4e79" if shade > 0 else "#b03a2e"}" '
        f'fill-opacity="{abs(shade) / 8:g}" d="{"".join(parts)}"/>\n'
        for shade, parts in sorted(shades.items()))


def frame(width, height, left, top):
    return (f'<rect x="{left}" y="{top}" width="{width}" height="{height}" '
            'fill="none" stroke="#bbbbbb" stroke-width="0.5"/>\n')


def text(left, top, words, style=""):
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{left}" y="{top}"{style}>{words}</text>\n'


def write(name, width, height, parts):
    with open(os.path.join(_HERE, name), "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="11" fill="#222222">\n'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
            + "".join(parts) + "</svg>\n")


def draw_translations(regard, folder, name, mechanisms):
    size, across, wide, high = 14, 5, 176, 172
    parts = []
    for index, (mechanism, overrides) in enumerate(mechanisms):
        run = os.path.join(folder, f"{name}_{mechanism}")
        metrics = trained(regard, run, "phrasebook",
                          overrides + _TRANSLATION_TRAINING)
        found = maps(regard, run, f"--target={_TRANSLATION}", _SENTENCE)[0]
        left = 8 + index % across * wide
        top = 36 + index // across * high
        rows = found["heads"][0]
        parts += [
            text(left, top - 18, mechanism, ' font-weight="bold"'),
            text(left, top - 5,
                 f"exact match {metrics['test/exact_match']:.2f}"),
            cells(rows, size, left, top),
            frame(size * len(rows[0]), size * len(rows), left, top)
        ]
        print(name, mechanism, metrics["test/exact_match"])
    write(f"maps_{name}.svg", across * wide,
          (len(mechanisms) + across - 1) // across * high + 8, parts)


def draw_self_attention(regard, folder):
    size, across, wide, high = 3, 4, 212, 138
    parts = []
    for index, (mechanism, overrides) in enumerate(SELF_ATTENTION):
        run = os.path.join(folder, f"self_{mechanism}")
        metrics = trained(regard, run, "induction",
                          overrides + _LANGUAGE_MODEL_TRAINING)
        found = maps(regard, run, _LINE)
        previous = max(found[0]["heads"],
                       key=lambda rows: mean_weight(rows, lambda i: i - 1))
        repeated = max(found[1]["heads"],
                       key=lambda rows: mean_weight(rows, lambda i: i - _REPEAT))
        left = 8 + index % across * wide
        top = 36 + index // across * high
        parts += [
            text(left, top - 18, mechanism, ' font-weight="bold"'),
            text(left, top - 5,
                 f"token accuracy {metrics['test/token_accuracy']:.3f}")
        ]
        for k, rows in enumerate((previous, repeated)):
            at = left + k * 100
            parts += [cells(rows, size, at, top),
                      frame(size * len(rows[0]), size * len(rows), at, top)]
        print("self", mechanism, metrics)
    write("maps_self_attention.svg", across * wide,
          (len(SELF_ATTENTION) + across - 1) // across * high + 8, parts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    regard, folder = map(os.path.realpath, sys.argv[1:])
    draw_translations(regard, folder, "scores", SCORES)
    draw_translations(regard, folder, "normalizers", NORMALIZERS)
    draw_self_attention(regard, folder)


if __name__ == "__main__":
    main()
