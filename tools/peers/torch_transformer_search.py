"""Beam search with a Transformer in PyTorch."""

import step_data
import torch
from torch.nn import functional
from torch_transformers import Cache, Translator
from torch_translator import extend


def _decode(layer, x, memory, cache):
    """Applies a decoder layer at one position: x [rows, 1, H].

    The rows of a source are queries on its memory.
    """
    x = layer.attention_norm(x + layer.attention(x, cache=cache))
    sources = (memory[0] if isinstance(memory, list) else memory).shape[0]
    grouped = x.view(sources, -1, x.shape[-1])
    x = layer.cross_norm(x + layer.cross(grouped, memory).view_as(x))
    return layer.output_norm(x + layer.feed_forward(x))


class Searcher(Translator):
    """Beam search. The tuned form projects the memory only once per source."""

    def __init__(self, work, weights, tuned):
        super().__init__(work, weights, tuned)
        self.work, self.tuned = work, tuned

    def step(self, words, position, memories, past):
        """Reads words [rows]. Returns log probabilities of the next [rows, V].

        `past` contains the keys and values of each layer. Also returns the new
        keys and values.
        """
        x = (self.target_embedding(words) * self.scale + position).unsqueeze(1)
        caches = [Cache(*of_layer, None, None) for of_layer in past]
        for layer, memory, cache in zip(self.decoder, memories, caches):
            x = _decode(layer, x, memory, cache)
        scores = functional.log_softmax(self.output(x[:, 0]), dim=-1)
        return scores, [(cache.keys, cache.values) for cache in caches]

    @torch.no_grad()
    def search(self, beam):
        """Returns the log probability of the best translations, [B]."""
        memory = self.encode()
        memories = [layer.cross.prepare(memory) if self.tuned else memory
                    for layer in self.decoder]
        total = torch.zeros(self.work.batch, 1)
        words = torch.full((self.work.batch,), step_data.BEGIN)
        empty = torch.zeros(self.work.batch, self.work.heads, 0,
                            self.work.hidden // self.work.heads)
        past = [(empty, empty) for _ in self.decoder]
        history = []
        for time in range(self.work.target_time):
            scores, past = self.step(words, self.positions[time], memories,
                                     past)
            total, words, rows = extend(total, scores, beam)
            past = [(keys[rows], values[rows]) for keys, values in past]
            history = [ids[rows] for ids in history] + [words]
        return total[:, 0]


def make(work, weights, tuned):
    tensors = {name: torch.from_numpy(value)
               for name, value in weights.items()}
    return Searcher(work, tensors, tuned)
