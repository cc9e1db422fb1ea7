"""Bahdanau's translator in PyTorch: training loss and search."""

import step_data
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import rnn
from torch_models import AdditiveScore


def extend(total, scores, beam):
    """Returns the best `beam` continuations of each source.

    Inputs are the log probabilities of the hypotheses [B, beams] and of their
    next words [B * beams, vocabulary]. Returns the new log probabilities [B,
    beam], the words [B * beam], and the rows that they continue.
    """
    batch, before = total.shape
    scores = total.unsqueeze(-1) + scores.view(batch, before, -1)
    vocabulary = scores.shape[-1]
    total, flat = scores.flatten(1).topk(beam)
    rows = flat // vocabulary + torch.arange(batch).unsqueeze(1) * before
    return total, (flat % vocabulary).view(-1), rows.view(-1)


class Translator(nn.Module):
    """The idiomatic form: library layers, one decoder step after another.

    The score projects the keys at every step, as in textbooks.
    """

    def __init__(self, work, weights):
        super().__init__()
        self.work = work
        e, h = work.embedding, work.hidden
        self.context_width = h * (2 if work.bidirectional else 1)
        self.source_embedding = nn.Embedding(work.source_vocabulary, e)
        self.target_embedding = nn.Embedding(work.target_vocabulary, e)
        self.encoder = nn.GRU(e, h, work.layers,
                              bidirectional=work.bidirectional)
        self.decoder = nn.GRU(self.context_width + e, h, work.layers)
        self.attention = AdditiveScore(
            *(weights[f"attention.{n}"] for n in ("w_q", "w_k", "w_v")))
        readout = weights["decoder.output.weight"].shape[1]
        self.output = nn.Linear(readout, work.target_vocabulary)
        if work.bidirectional:
            self.bridge = nn.Linear(self.context_width, h)
        self._load(weights)
        source, target_input, target = (
            torch.from_numpy(ids).t().contiguous()
            for ids in step_data.sentences(work))
        self._set_batch(source, target_input, target)

    def _set_batch(self, source, target_input, target):
        """Sets ids [T, B]. Ragged sources have a mask [B, T]."""
        self.source, self.target_input = source, target_input
        self.target = target.reshape(-1)
        self.mask = None
        if self.work.ragged:
            self.mask = (source != step_data.PAD).t()
            self.source_lengths = self.mask.sum(1)

    @torch.no_grad()
    def _load(self, weights):
        self.source_embedding.weight.copy_(weights["encoder.embedding.weight"])
        self.target_embedding.weight.copy_(weights["decoder.embedding.weight"])
        self.output.weight.copy_(weights["decoder.output.weight"])
        self.output.bias.copy_(weights["decoder.output.bias"])
        if self.work.bidirectional:
            self.bridge.weight.copy_(weights["decoder.bridge.weight"])
            self.bridge.bias.copy_(weights["decoder.bridge.bias"])
        for prefix, gru in (("encoder", self.encoder),
                            ("decoder", self.decoder)):
            for name, parameter in gru.named_parameters():
                part, _, rest = name.partition("_l")  # weight_ih_l0_reverse
                layer, _, reverse = rest.partition("_")
                direction = "reverse." if reverse else ""
                parameter.copy_(
                    weights[f"{prefix}.rnn.{layer}.{direction}{part}"])

    def encode(self, source):
        """Returns values [B, T, C] and the initial state [layers, B, H]."""
        embedded = self.source_embedding(source)
        if self.mask is not None:
            embedded = rnn.pack_padded_sequence(
                embedded, self.source_lengths, enforce_sorted=False)
        outputs, state = self.encoder(embedded)
        if self.mask is not None:
            outputs, _ = rnn.pad_packed_sequence(outputs)
        if self.work.bidirectional:
            last = torch.cat((state[0], state[1]), dim=1)
            state = torch.tanh(self.bridge(last)).unsqueeze(0)
        return outputs.transpose(0, 1), state

    def attend(self, state, values, prepared):
        """Returns the context [B, C], or [B * beams, C] with several beams."""
        queries = state[-1].view(values.shape[0], -1, state.shape[-1])
        scores = self.attention.score(queries, prepared)
        if self.mask is not None:
            hidden = ~self.mask[:values.shape[0]].unsqueeze(1)
            scores = scores.masked_fill(hidden, -torch.inf)
        weights = functional.softmax(scores, dim=-1)
        return torch.bmm(weights, values).flatten(0, 1)

    def step(self, embedded, state, values, prepared):
        """Decodes one word. Returns the readout and the new state."""
        if prepared is None:
            prepared = self.attention.prepare(values)
        context = self.attend(state, values, prepared)
        inputs = torch.cat((context, embedded), dim=-1).unsqueeze(0)
        output, state = self.decoder(inputs, state)
        return self.readout(output[0], context, embedded), state

    def readout(self, state, context, embedded):
        if not self.work.bidirectional:
            return state
        return torch.cat((state, context, embedded), dim=-1)

    def forward(self):
        values, state = self.encode(self.source)
        readouts = []
        for embedded in self.target_embedding(self.target_input):
            readout, state = self.step(embedded, state, values, None)
            readouts.append(readout)
        logits = self.output(torch.stack(readouts))
        return functional.cross_entropy(logits.flatten(0, 1), self.target,
                                        ignore_index=step_data.PAD)

    def prepare(self, values):
        """Returns data for all steps of a search, which this form lacks."""
        del values
        return None

    @torch.no_grad()
    def search(self, beam):
        """Returns the log probability of the best translations, [B]."""
        batch, steps = self.work.batch, self.work.target_time
        values, state = self.encode(self.source)
        prepared = self.prepare(values)
        total = torch.zeros(batch, 1)
        words = torch.full((batch,), step_data.BEGIN)
        history = []
        for _ in range(steps):
            readout, state = self.step(self.target_embedding(words), state,
                                       values, prepared)
            scores = functional.log_softmax(self.output(readout), dim=-1)
            if beam == 1:
                best, words = scores.max(-1)
                total = total + best.unsqueeze(-1)
                history.append(words)
                continue
            total, words, rows = extend(total, scores, beam)
            state = state[:, rows]
            history = [ids[rows] for ids in history] + [words]
        return total[:, 0]


class TunedTranslator(Translator):
    """The tuned form: one matrix product for all keys, and one for all words.

    Sentences are sorted by decreasing target length. Each step only contains
    the sentences that have not ended.
    """

    def _set_batch(self, source, target_input, target):
        lengths, order = (target != step_data.PAD).sum(0).sort(
            descending=True, stable=True)
        super()._set_batch(source[:, order], target_input[:, order],
                           target[:, order])
        self.live = [int((lengths > time).sum())
                     for time in range(target.shape[0])]
        self.target = self.target[self.target != step_data.PAD]

    def forward(self):
        values, state = self.encode(self.source)
        prepared = self.prepare(values)
        embedded = self.target_embedding(self.target_input)
        gates = self._embedding_gates(embedded)
        state = list(state.unbind(0))
        readouts = []
        for time, live in enumerate(self.live):
            state = [layer[:live] for layer in state]
            context = self.attend(torch.stack(state[-1:]), values[:live],
                                  prepared[:live])
            state = self._cells(gates[time, :live], context, state)
            readouts.append(self.readout(state[-1], context,
                                         embedded[time, :live]))
        return functional.cross_entropy(self.output(torch.cat(readouts)),
                                        self.target)

    def prepare(self, values):
        return self.attention.prepare(values)

    def _embedding_gates(self, embedded):
        weight = self.decoder.weight_ih_l0[:, self.context_width:]
        return functional.linear(embedded, weight, self.decoder.bias_ih_l0)

    def _cells(self, gate, context, state):
        """Applies all layers. `gate` is the word's contribution to layer 0."""
        weight = self.decoder.weight_ih_l0[:, :self.context_width]
        below = torch.addmm(gate, context, weight.t())
        new = []
        for layer, before in enumerate(state):
            if layer > 0:
                below = functional.linear(
                    new[-1], getattr(self.decoder, f"weight_ih_l{layer}"),
                    getattr(self.decoder, f"bias_ih_l{layer}"))
            recurrent = functional.linear(
                before, getattr(self.decoder, f"weight_hh_l{layer}"),
                getattr(self.decoder, f"bias_hh_l{layer}"))
            h = before.shape[-1]
            reset, update = torch.sigmoid(
                below[:, :2 * h] + recurrent[:, :2 * h]).chunk(2, dim=1)
            fresh = torch.tanh(
                torch.addcmul(below[:, 2 * h:], reset, recurrent[:, 2 * h:]))
            # The state remains in float32, even if autocast computes gates in
            # bfloat16.
            new.append(torch.lerp(fresh.to(before.dtype), before,
                                  update.to(before.dtype)))
        return new


def make(work, weights, tuned):
    tensors = {name: torch.from_numpy(value)
               for name, value in weights.items()}
    return (TunedTranslator if tuned else Translator)(work, tensors)
