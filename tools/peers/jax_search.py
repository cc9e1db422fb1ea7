"""Greedy search and beam search in JAX, compiled as a whole."""

import jax
import jax.numpy as jnp
import jax_models
import step_data


def search(work, tuned):
    """Returns a function (weights, source [T, B]) -> log probabilities [B],
    ids."""
    beam, vocabulary = work.beam, work.target_vocabulary

    def run(w, source):
        batch = source.shape[1]
        values, states = jax_models.encode(work, w, source, tuned)
        prepared = (values @ w["attention.w_k"][0].T if tuned
                    else None)

        def extend(total, words, states):
            embedded = w["decoder.embedding.weight"][words]
            gates = (jax_models.embed_gates(work, w, embedded) if tuned
                     else None)
            readout, states = jax_models.decoder_step(
                work, w, values, prepared, states, embedded, gates)
            scores = jax.nn.log_softmax(jax_models.logits(w, readout), -1)
            scores = total[:, :, None] + scores.reshape(batch, -1, vocabulary)
            before = scores.shape[1]
            scores = scores.reshape(batch, -1)
            if beam == 1:
                flat = jnp.argmax(scores, -1, keepdims=True)
                total = jnp.take_along_axis(scores, flat, -1)
            else:
                total, flat = jax.lax.top_k(scores, beam)
            rows = (flat // vocabulary
                    + jnp.arange(batch)[:, None] * before).reshape(-1)
            if beam > 1:
                states = tuple(state[rows] for state in states)
            return total, (flat % vocabulary).reshape(-1), states, rows

        total, words, states, _ = extend(
            jnp.zeros((batch, 1)), jnp.full((batch,), step_data.BEGIN), states)
        history = jnp.zeros((work.target_time, batch * beam), jnp.int32)
        history = history.at[0].set(words)

        def step(carry, time):
            total, words, states, history = carry
            total, words, states, rows = extend(total, words, states)
            if beam > 1:
                history = history[:, rows]
            history = history.at[time].set(words)
            return (total, words, states, history), None

        (total, _, _, history), _ = jax.lax.scan(
            step, (total, words, states, history),
            jnp.arange(1, work.target_time))
        return total[:, 0], history

    return run
