"""The models in JAX: pure functions of a dictionary of weights.

loss(work, tuned) returns a function of (weights, data). data(work) returns the
data.
"""

import jax
import jax.numpy as jnp
import jax_transformers
import numpy as np
import step_data
import works


def data(work):
    """Returns the inputs of a loss, besides weights."""
    if work.kind == works.REGRESSION:
        return step_data.curve(work)
    b, t, u, h = (work.batch, work.source_time, work.target_time, work.hidden)
    if work.kind == works.ADDITIVE:
        return tuple(step_data.uniform(stream, shape) for stream, shape in (
            (1, (b, u, h)), (2, (b, t, h)), (3, (b, u, t))))
    if work.kind == works.MULTI_HEAD:
        return tuple(step_data.uniform(s, (b, t, h)) for s in (1, 2))
    if work.kind == works.TRANSFORMER:
        return tuple(ids.astype(np.int32) for ids in step_data.sentences(work))
    if work.kind == works.LANGUAGE_MODEL:
        return tuple(ids.astype(np.int32) for ids in step_data.blocks(work))
    if work.kind == works.GENERATION:
        return (step_data.text(b, work.target_vocabulary).astype(np.int32),)
    return tuple(np.ascontiguousarray(ids.T, np.int32)
                 for ids in step_data.sentences(work))


def _regression(work):
    others = ~np.eye(work.batch, dtype=bool)

    def loss(w, x, y):
        scores = -((x[:, None] - x[None, :]) * w["attention.w"][0, 0])**2
        weights = jax.nn.softmax(jnp.where(others, scores / 2, -jnp.inf), -1)
        return jnp.mean((weights @ y - y)**2)

    return loss


def _score(queries, prepared, w_q, w_v):
    queries = queries @ w_q[0].T
    return jnp.tanh(queries[:, :, None] + prepared[:, None]) @ w_v[0]


def _additive(w, queries, keys, seed):
    scores = _score(queries, keys @ w["w_k"][0].T, w["w_q"], w["w_v"])
    return jnp.sum(scores * seed)


def _multi_head(work):
    def loss(w, x, seed):
        b, t, m = x.shape
        q, k, v = ((x @ w[f"{n}.weight"].T + w[f"{n}.bias"]).reshape(
            b, t, work.heads, -1) for n in ("query", "key", "value"))
        context = jax.nn.dot_product_attention(q, k, v).reshape(b, t, m)
        out = context @ w["output.weight"].T + w["output.bias"]
        return jnp.sum(out * seed)

    return loss


def _cell(gates, h, w, prefix):
    """PyTorch's GRU. `gates` are the gates of the input, with bias."""
    recurrent = h @ w[f"{prefix}.weight_hh"].T
    recurrent += w[f"{prefix}.bias_hh"]
    r_in, z_in, n_in = jnp.split(gates, 3, -1)
    r, z, n = jnp.split(recurrent, 3, -1)
    r, z = jax.nn.sigmoid(r_in + r), jax.nn.sigmoid(z_in + z)
    n = jnp.tanh(n_in + r * n)
    return n + z * (h - n)


def _gru(w, prefix, x, tuned, reverse=False):
    """All steps of a layer in one direction: [T, B, I] -> [T, B, H], last."""
    def project(x):
        return (x @ w[f"{prefix}.weight_ih"].T
                + w[f"{prefix}.bias_ih"])

    def step(h, x):
        h = _cell(x if tuned else project(x), h, w, prefix)
        return h, h

    first = jnp.zeros((x.shape[1],
                       w[f"{prefix}.weight_hh"].shape[1]))
    last, outputs = jax.lax.scan(step, first, project(x) if tuned else x,
                                 reverse=reverse)
    return outputs, last


def encode(work, w, source, tuned):
    """Returns values [B, T, C] and the initial states, a tuple of [B, H]."""
    x = w["encoder.embedding.weight"][source]
    states = []
    for layer in range(work.layers):
        prefix = f"encoder.rnn.{layer}"
        outputs, last = _gru(w, prefix, x, tuned)
        if work.bidirectional:
            backward, first = _gru(w, f"{prefix}.reverse", x, tuned, True)
            outputs = jnp.concatenate((outputs, backward), -1)
            last = jnp.tanh(jnp.concatenate((last, first), -1)
                            @ w["decoder.bridge.weight"].T
                            + w["decoder.bridge.bias"])
        states.append(last)
        x = outputs
    return jnp.swapaxes(x, 0, 1), tuple(states)


def embed_gates(work, w, embedded):
    """Returns the contribution of words to the gates of the first layer."""
    weight = w["decoder.rnn.0.weight_ih"][:, -work.embedding:]
    return embedded @ weight.T + w["decoder.rnn.0.bias_ih"]


def decoder_step(work, w, values, prepared, states, embedded, gates):
    """Decodes one word. Returns the readout and the new states.

    In the idiomatic form, `prepared` and `gates` are None, and are computed
    here.
    """
    if prepared is None:
        prepared = values @ w["attention.w_k"][0].T
    rows = states[-1].shape[0]
    scores = _score(states[-1].reshape(values.shape[0], -1, work.hidden),
                    prepared, w["attention.w_q"],
                    w["attention.w_v"])
    context = (jax.nn.softmax(scores, -1) @ values).reshape(rows, -1)
    if gates is None:
        below = (jnp.concatenate((context, embedded), -1)
                 @ w["decoder.rnn.0.weight_ih"].T + w["decoder.rnn.0.bias_ih"])
    else:
        below = gates + context @ w["decoder.rnn.0.weight_ih"][
            :, :-work.embedding].T
    new = []
    for layer, h in enumerate(states):
        prefix = f"decoder.rnn.{layer}"
        if layer > 0:
            below = (new[-1] @ w[f"{prefix}.weight_ih"].T
                     + w[f"{prefix}.bias_ih"])
        new.append(_cell(below, h, w, prefix))
    readout = new[-1]
    if work.bidirectional:
        readout = jnp.concatenate((readout, context, embedded), -1)
    return readout, tuple(new)


def logits(w, readout):
    return readout @ w["decoder.output.weight"].T + w["decoder.output.bias"]


def _translation(work, tuned):
    def loss(w, source, target_input, target):
        values, states = encode(work, w, source, tuned)
        embedded = w["decoder.embedding.weight"][target_input]
        prepared = (values @ w["attention.w_k"][0].T if tuned
                    else None)
        gates = embed_gates(work, w, embedded) if tuned else None

        def step(states, now):
            embedded, gates = now
            readout, states = decoder_step(work, w, values, prepared, states,
                                           embedded, gates)
            return states, readout

        _, readouts = jax.lax.scan(step, states, (embedded, gates))
        scores = logits(w, readouts)
        return jax_transformers.cross_entropy(scores, target)

    return loss


def loss(work, tuned):
    """Returns a function of the weights and the arrays of data(work)."""
    if work.kind == works.REGRESSION:
        return _regression(work)
    if work.kind == works.ADDITIVE:
        return _additive
    if work.kind == works.MULTI_HEAD:
        return _multi_head(work)
    if work.kind == works.TRANSFORMER:
        return jax_transformers.translation(work)
    if work.kind == works.LANGUAGE_MODEL:
        return jax_transformers.language_model(work)
    return _translation(work, tuned)
