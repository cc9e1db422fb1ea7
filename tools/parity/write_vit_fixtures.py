#!/usr/bin/env python3
"""Writes small Vision Transformers as folders, for the tests of pretrained.

They come from transformers and timm. See write_fixtures.py.

    pip install torch==2.13.0 transformers==5.24.0 timm==1.0.31 pillow
    tools/parity/write_vit_fixtures.py .

values.txt in each folder contains an input, the tokens after the last norm, the
logits, and all gradients of a weighted sum of both. It also contains the
probabilities of image.png.
"""

import json
import pathlib
import sys

import numpy
from PIL import Image
import timm
from timm.data import create_transform, resolve_data_config
from timm.models import save_for_hf
import torch
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from image_processors import ViTImageProcessorPil
from write_fixtures import Fixture, project

NAMES = {
    "embeddings.patch_embeddings.projection": "encoder.patch_embedding",
    "patch_embed.proj": "encoder.patch_embedding",
    "embeddings.cls_token": "encoder.class_token",
    "cls_token": "encoder.class_token",
    "embeddings.position_embeddings": "encoder.position_embedding.weight",
    "pos_embed": "encoder.position_embedding.weight",
    "attention.q_proj": "attention.query",
    "attention.k_proj": "attention.key",
    "attention.v_proj": "attention.value",
    "attention.o_proj": "attention.output",
    "attn.proj": "attention.output",
    "layernorm_before": "attention_norm",
    "norm1": "attention_norm",
    "layernorm_after": "feed_forward_norm",
    "norm2": "feed_forward_norm",
    "mlp.fc1": "feed_forward.input",
    "mlp.fc2": "feed_forward.output",
    "layernorm": "norm",
    "classifier": "head",
}


class Rounded(Fixture):
    """Rounds to nine digits, which suffice for floats."""

    def add(self, name, array):
        array = torch.as_tensor(array).detach().double()
        super().add(name, array.clone().apply_(lambda x: float(f"{x:.9g}")))


def spread(module):
    """Sets all parameters to values that affect the result."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)


def our_name(name):
    name = name.removeprefix("vit.")
    layer = ""
    for prefix in ("layers.", "blocks."):
        if name.startswith(prefix):
            _, number, name = name.split(".", 2)
            layer = f"encoder.layers.{number}."
    for part in (name, name.rsplit(".", 1)[0]):
        if part in NAMES:
            name = NAMES[part] + name[len(part):]
            break
    if layer or name.startswith(("encoder.", "head.")):
        return layer + name
    return "encoder." + name


def add_gradients(fixture, module):
    for name, parameter in module.named_parameters():
        gradient = parameter.grad
        if gradient is None:
            continue
        if "cls_token" in name:
            gradient = gradient[0, 0]
        elif name.endswith(("position_embeddings", "pos_embed")):
            gradient = gradient[0]
        elif gradient.dim() == 4:
            gradient = gradient.flatten(1)
        if ".attn.qkv." in name:
            for part, third in zip(["query", "key", "value"], gradient.chunk(3)):
                fixture.add("grad." + our_name(
                    name.replace("attn.qkv", "attention." + part)), third)
        else:
            fixture.add("grad." + our_name(name), gradient)


def values(module, images, features, head, pixels):
    """`features` computes tokens, and `head` computes logits from tokens."""
    fixture = Rounded()
    x = torch.randn(2, *images, requires_grad=True)
    tokens = features(x)
    total = project(fixture, "tokens", tokens)
    if head is not None:
        total = total + project(fixture, "logits", head(tokens))
    total.backward()
    fixture.add("x", x)
    fixture.add("grad.x", x.grad)
    add_gradients(fixture, module)
    if pixels is not None:
        with torch.no_grad():
            fixture.add(
                "probabilities", head(features(pixels[None])).softmax(-1)[0])
    return fixture


def write_transformers(folder, image, config, processor, headless=False):
    torch.manual_seed(1)
    kind = ViTModel if headless else ViTForImageClassification
    module = kind(ViTConfig(**config, attn_implementation="eager"))
    spread(module)
    module.eval()
    module.save_pretrained(folder)
    pixels = None
    if processor is not None:
        processor = ViTImageProcessorPil(**processor)
        text = json.loads(processor.to_json_string())
        text["image_processor_type"] = "ViTImageProcessor"
        (folder / "preprocessor_config.json").write_text(
            json.dumps(text, indent=2) + "\n")
        kind = "L" if config.get("num_channels") == 1 else "RGB"
        pixels = torch.as_tensor(numpy.array(processor(
            numpy.atleast_3d(numpy.asarray(image.convert(kind))),
            input_data_format="channels_last")["pixel_values"][0]))
    images = config["image_size"]
    if isinstance(images, int):
        images = (images, images)
    vit = module if headless else module.vit
    values(
        module, (config.get("num_channels", 3), *images),
        lambda x: vit(x).last_hidden_state,
        None if headless else lambda y: module.classifier(y[:, 0]),
        pixels).write(folder / "values.txt")


def write_timm(folder, image, architecture, overlay, names, **arguments):
    torch.manual_seed(1)
    module = timm.create_model(
        architecture, pretrained_cfg_overlay=overlay, **arguments)
    spread(module)
    module.eval()
    save_for_hf(module, folder, model_config={"label_names": names},
                safe_serialization=True)
    saved = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    transform = create_transform(**resolve_data_config(pretrained_cfg=saved))
    values(
        module, saved["input_size"], module.forward_features,
        module.forward_head, transform(image.convert("RGB"))).write(
            folder / "values.txt")


def main():
    root = pathlib.Path(sys.argv[1]) / "pretrained/testdata"
    for name in ("vit", "vit_grey", "vit_headless", "timm", "timm_gap"):
        (root / name).mkdir(parents=True, exist_ok=True)
    source = numpy.random.default_rng(1)
    image = Image.fromarray(
        source.integers(0, 256, (14, 21, 3), dtype=numpy.uint8))
    image.save(root / "image.png")
    write_transformers(
        root / "vit", image,
        {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 12, "image_size": 8, "patch_size": 4,
         "id2label": {0: "tabby cat", 1: "dog", 2: "caf\u00e9"},
         "label2id": {"tabby cat": 0, "dog": 1, "caf\u00e9": 2}},
        {"size": {"height": 8, "width": 8}, "resample": 2,
         "image_mean": [0.485, 0.456, 0.406],
         "image_std": [0.229, 0.224, 0.225]})
    write_transformers(
        root / "vit_grey", image,
        {"hidden_size": 9, "num_hidden_layers": 3, "num_attention_heads": 3,
         "intermediate_size": 5, "image_size": [4, 6], "patch_size": 2,
         "num_channels": 1, "qkv_bias": False, "hidden_act": "gelu_new",
         "layer_norm_eps": 1e-6},
        {"size": {"height": 4, "width": 6}, "resample": 3,
         "do_normalize": False})
    write_transformers(
        root / "vit_headless", image,
        {"hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 1,
         "intermediate_size": 7, "image_size": 6, "patch_size": 3,
         "hidden_act": "relu"}, None, headless=True)
    write_timm(
        root / "timm", image, "vit_tiny_patch16_224", {},
        ["tabby cat", "dog", "bird"], num_classes=3, img_size=9, patch_size=3,
        embed_dim=8, depth=2, num_heads=2)
    write_timm(
        root / "timm_gap", image, "vit_base_patch16_gap_224",
        {"crop_pct": 1.0, "crop_mode": "squash", "interpolation": "bilinear"},
        ["yes", "no"], num_classes=2, img_size=8, patch_size=4, embed_dim=12,
        depth=1, num_heads=3, mlp_ratio=2.1)
    for path in root.rglob("model.safetensors"):
        path.chmod(0o644)


if __name__ == "__main__":
    main()
