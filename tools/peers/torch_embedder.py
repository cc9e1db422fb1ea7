"""Sentence embeddings by a BERT in PyTorch.

The idiomatic form has the layers of transformers. In the tuned form, the
projections of queries, keys and values are one matrix product.
"""

import step_data
import torch
import transformers
from torch import nn
from torch.nn import functional
from torch_transformers import embedding, made, norm, stack

_EPSILON = 1e-12

# Names of the parts in Regard, and their names in transformers.
_PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.input": "intermediate.dense",
    "feed_forward.output": "output.dense",
    "feed_forward_norm": "output.LayerNorm"}
_EMBEDDINGS = {
    "embedding": "word_embeddings",
    "position_embedding": "position_embeddings",
    "type_embedding": "token_type_embeddings",
    "embedding_norm": "LayerNorm"}


def _published_name(name):
    parts = name.split(".")
    if parts[0] == "layers":
        part = ".".join(parts[2:-1])
        return f"encoder.layer.{parts[1]}.{_PARTS[part]}.{parts[-1]}"
    return f"embeddings.{_EMBEDDINGS[parts[0]]}.{parts[-1]}"


class Published(nn.Module):
    """The model of transformers: ids and mask [B, T] -> outputs [B, T, H]."""

    def __init__(self, work, weights):
        super().__init__()
        config = transformers.BertConfig(
            vocab_size=work.source_vocabulary, hidden_size=work.hidden,
            num_hidden_layers=work.layers, num_attention_heads=work.heads,
            intermediate_size=work.feed_forward, layer_norm_eps=_EPSILON)
        self.model = transformers.BertModel(config, add_pooling_layer=False)
        missing, further = self.model.load_state_dict(
            {_published_name(name): weight
             for name, weight in weights.items()}, strict=False)
        # Only buffers of ids may be missing, not weights.
        names = dict(self.model.named_parameters())
        assert not further and not set(missing) & set(names), (missing, further)

    def forward(self, ids, mask):
        return self.model(ids, attention_mask=mask).last_hidden_state


class Tuned(nn.Module):
    """Has no masks, because all sentences have the same length."""

    def __init__(self, work, weights):
        super().__init__()
        self.embedding = embedding(weights["embedding.weight"])
        # Adds the embedding of type 0, because all tokens have this type.
        self.positions = nn.Parameter(weights["position_embedding.weight"]
                                      + weights["type_embedding.weight"][0])
        self.norm = made(norm, weights, "embedding_norm")
        self.layers = stack(weights, "", work, tuned=True, pre=False,
                            activation=functional.gelu)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = _EPSILON

    def forward(self, ids, mask):
        del mask
        x = self.norm(self.embedding(ids) + self.positions[:ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x


class Embedder(nn.Module):
    """Ids and mask [B, T] -> embeddings [B, H] of norm 1."""

    def __init__(self, work, weights, tuned):
        super().__init__()
        tensors = {name: torch.from_numpy(value)
                   for name, value in weights.items()}
        self.bert = (Tuned if tuned else Published)(work, tensors)
        self.eval()

    def forward(self, ids, mask):
        of_token = mask.unsqueeze(-1).to(torch.float32)
        sums = (self.bert(ids, mask) * of_token).sum(1)
        return functional.normalize(sums / of_token.sum(1), dim=1)


def inputs(work):
    """Returns ids and mask, [B, T] each."""
    ids = step_data.text(work.batch * work.source_time, work.source_vocabulary)
    ids = torch.from_numpy(ids.reshape(work.batch, work.source_time))
    return ids, torch.ones_like(ids)
