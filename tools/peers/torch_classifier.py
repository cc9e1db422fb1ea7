"""Image classification by a Vision Transformer in PyTorch.

The idiomatic form has the layers of transformers. In the tuned form, the
projections of queries, keys and values are one matrix product.
"""

import step_data
import torch
import torch_transformers
import transformers
from torch import nn
from torch.nn import functional

_EPSILON = 1e-5

# Names of the parts in Regard, and their names in transformers.
_PARTS = {
    "attention.query": "attention.q_proj",
    "attention.key": "attention.k_proj",
    "attention.value": "attention.v_proj",
    "attention.output": "attention.o_proj",
    "attention_norm": "layernorm_before",
    "feed_forward.input": "mlp.fc1",
    "feed_forward.output": "mlp.fc2",
    "feed_forward_norm": "layernorm_after"}


def _published(work, weights):
    h, p, c = work.hidden, work.patch, work.channels
    found = {}
    for name, weight in weights.items():
        parts = name.split(".")
        if parts[1] == "layers":
            part = _PARTS[".".join(parts[3:-1])]
            found[f"vit.layers.{parts[2]}.{part}.{parts[-1]}"] = weight
    patches = "vit.embeddings.patch_embeddings.projection"
    found[f"{patches}.weight"] = (
        weights["encoder.patch_embedding.weight"].view(h, c, p, p))
    found[f"{patches}.bias"] = weights["encoder.patch_embedding.bias"]
    found["vit.embeddings.cls_token"] = (
        weights["encoder.class_token"].view(1, 1, h))
    found["vit.embeddings.position_embeddings"] = (
        weights["encoder.position_embedding.weight"].unsqueeze(0))
    for kind in ("weight", "bias"):
        found[f"vit.layernorm.{kind}"] = weights[f"encoder.norm.{kind}"]
        found[f"classifier.{kind}"] = weights[f"head.{kind}"]
    return found


class Published(nn.Module):
    """The model of transformers."""

    def __init__(self, work, weights):
        super().__init__()
        config = transformers.ViTConfig(
            hidden_size=work.hidden, num_hidden_layers=work.layers,
            num_attention_heads=work.heads,
            intermediate_size=work.feed_forward, image_size=work.source_time,
            patch_size=work.patch, num_channels=work.channels,
            layer_norm_eps=_EPSILON, num_labels=work.target_vocabulary)
        self.model = transformers.ViTForImageClassification(config)
        self.model.load_state_dict(_published(work, weights), assign=True)

    def forward(self, pixels):
        return self.model(pixels / 127.5 - 1).logits


class Tuned(torch_transformers.ImageClassifier):

    def forward(self, pixels):
        return self.logits_of(pixels)


class Classifier(nn.Module):
    """Pixels [B, channels, side, side] -> log probabilities [B, classes]."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        tensors = {name: torch.from_numpy(value)
                   for name, value in weights.items()}
        self.model = (Tuned(work, tensors, tuned=True) if tuned
                      else Published(work, tensors))
        self.eval()

    def forward(self, pixels):
        return functional.log_softmax(self.model(pixels), dim=-1)


def inputs(work):
    """Returns pixels, 0 .. 255."""
    pixels, _ = step_data.images(work)
    return (torch.from_numpy(pixels).float(),)
