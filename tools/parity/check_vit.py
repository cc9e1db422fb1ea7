#!/usr/bin/env python3
"""Compares Vision Transformers in folders with transformers and timm.

    pip install torch transformers timm pillow
    tools/bazel build //tools:{export,predict}
    tools/parity/check_vit.py

Writes random models of both libraries as folders. Regard classifies random
images and exports the models. Compares the probabilities, and opens the exports
in transformers. Images are square. For other images, Pillow 13 may resize the
rows first with another rounding, and timm may crop one pixel further down or
right. Exits with 1 if a probability differs by more than 1e-5, if a key is
missing or unexpected, or if an export gives other probabilities.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image
import timm
from timm.data import create_transform, resolve_data_config
from timm.models import save_for_hf
import torch
from transformers import (
    AutoImageProcessor, ViTConfig, ViTForImageClassification)

from exports import export
from image_processors import BY_PILLOW, ViTImageProcessorPil

PROGRAM = "bazel-bin/tools/predict"
IMAGES = 20


def spread(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(3)
    return module.eval()


def by_transformers(folder, **config):
    labels = {i: f"class {i}" for i in range(7)}
    module = spread(ViTForImageClassification(ViTConfig(
        id2label=labels, label2id={v: k for k, v in labels.items()}, **config)))
    module.save_pretrained(folder)
    side = config["image_size"]
    processor = ViTImageProcessorPil(size={"height": side, "width": side})
    processor.save_pretrained(folder)
    return module, processor


def by_timm(folder, architecture, **arguments):
    module = spread(timm.create_model(architecture, **arguments))
    names = [f"class {i}" for i in range(arguments["num_classes"])]
    save_for_hf(module, folder, model_config={"label_names": names},
                safe_serialization=True)
    saved = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    transform = create_transform(**resolve_data_config(pretrained_cfg=saved))
    return module, transform


def probabilities(output):
    """Returns the probabilities in the order of the classes."""
    rows = []
    for line in output.splitlines():
        ranked = json.loads(line)["choices"][0]
        rows.append([choice["probability"] for choice in sorted(
            ranked, key=lambda choice: int(choice["name"].split()[1]))])
    return torch.tensor(rows)


def predict(folder, images):
    return probabilities(subprocess.run(
        [PROGRAM, f"--run={folder}", "--json", "--top=1000", *images],
        check=True, stdout=subprocess.PIPE).stdout.decode())


def check(name, folder, images, wanted, copies=True):
    copy = f"{folder}_copy"
    got = predict(folder, images)
    difference = (got - wanted).abs().max().item()
    text = f"{name}: {len(images)} images, largest difference {difference:.1e}"
    failed = difference > 1e-5
    if copies:
        export(folder, copy)
        module, loaded = ViTForImageClassification.from_pretrained(
            copy, output_loading_info=True)
        processor = AutoImageProcessor.from_pretrained(copy, **BY_PILLOW)
        with torch.no_grad():
            again = torch.cat([
                module.eval()(processor(
                    Image.open(image).convert("RGB"),
                    return_tensors="pt")["pixel_values"]).logits.softmax(-1)
                for image in images])
        keys = {kind: sorted(loaded[kind]) for kind in (
            "missing_keys", "unexpected_keys", "mismatched_keys")}
        copied = (got - again).abs().max().item()
        text += f"; its copy {copied:.1e}, {keys}"
        failed |= copied > 1e-5 or any(keys.values())
    print(text)
    return failed


def main():
    torch.manual_seed(0)
    source = numpy.random.default_rng(0)
    failed = False
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        images = []
        for i in range(IMAGES):
            side = int(source.integers(20, 90))
            shape = (side, side, 3)
            # Makes smooth images with noise.
            coarse = Image.fromarray(
                source.integers(0, 256, (5, 4, 3), dtype=numpy.uint8))
            image = numpy.asarray(coarse.resize(shape[1::-1]), dtype=int)
            image = image + source.integers(-20, 20, shape)
            images.append(str(root / f"{i}.png"))
            Image.fromarray(
                image.clip(0, 255).astype(numpy.uint8)).save(images[-1])
        opened = [Image.open(image) for image in images]
        for number, config in enumerate([
                {"hidden_size": 48, "num_hidden_layers": 3,
                 "num_attention_heads": 4, "intermediate_size": 96,
                 "image_size": 32, "patch_size": 8},
                {"hidden_size": 30, "num_hidden_layers": 2,
                 "num_attention_heads": 5, "intermediate_size": 50,
                 "image_size": 36, "patch_size": 4, "qkv_bias": False,
                 "hidden_act": "gelu_pytorch_tanh"}]):
            folder = root / f"vit_{number}"
            module, processor = by_transformers(folder, **config)
            with torch.no_grad():
                wanted = torch.cat([module(processor(
                    image, return_tensors="pt")["pixel_values"]
                                           ).logits.softmax(-1)
                                    for image in opened])
            failed |= check(f"transformers {number}", folder, images, wanted)
        for name, arguments in [
                ("vit_tiny_patch16_224",
                 {"num_classes": 7, "img_size": 48, "depth": 2}),
                ("vit_small_patch32_384",
                 {"num_classes": 7, "img_size": 96, "depth": 2}),
                ("vit_base_patch16_gap_224",
                 {"num_classes": 7, "img_size": 48, "depth": 1,
                  "embed_dim": 96, "num_heads": 4})]:
            folder = root / name
            folder.mkdir()
            module, transform = by_timm(folder, name, **arguments)
            with torch.no_grad():
                wanted = torch.cat([
                    module(transform(image)[None]).softmax(-1)
                    for image in opened])
            failed |= check(f"timm {name}", folder, images, wanted,
                            copies="gap" not in name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
