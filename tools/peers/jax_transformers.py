"""Transformers in JAX: pure functions of a dictionary of weights."""

import functools

import jax
import jax.numpy as jnp
import step_data


def cross_entropy(logits, target):
    true = jnp.take_along_axis(logits, target[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - true)


def _linear(w, name, x):
    y = x @ w[f"{name}.weight"].T
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def _norm(w, name, x):
    x = x - jnp.mean(x, -1, keepdims=True)
    x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
    x = x * w[f"{name}.weight"]
    return x + w[f"{name}.bias"] if f"{name}.bias" in w else x


def _heads(work, w, name, part, x):
    """Projects to heads: [B, T, width] -> [B, T, heads, head width]."""
    return _linear(w, f"{name}.{part}", x).reshape(
        *x.shape[:2], work.heads, -1)


def _attend(work, w, name, x, memory, attend):
    """Attention. `attend` is a function of queries, keys and values."""
    context = attend(_heads(work, w, name, "query", x),
                     _heads(work, w, name, "key", memory),
                     _heads(work, w, name, "value", memory))
    return _linear(w, f"{name}.output", context.reshape(x.shape))


_ALL = jax.nn.dot_product_attention
_CAUSAL = functools.partial(_ALL, is_causal=True)


def _feed_forward(w, name, x, activation):
    return _linear(w, f"{name}.feed_forward.output",
                   activation(_linear(w, f"{name}.feed_forward.input", x)))


def _post_norm(work, w, name, x, attend, memory=None):
    """norm(x + f(x)), with cross-attention if there is a memory."""
    x = _norm(w, f"{name}.attention_norm",
              x + _attend(work, w, f"{name}.attention", x, x, attend))
    if memory is not None:
        x = _norm(w, f"{name}.cross_attention_norm",
                  x + _attend(work, w, f"{name}.cross_attention", x, memory,
                              _ALL))
    return _norm(w, f"{name}.feed_forward_norm",
                 x + _feed_forward(w, name, x, jax.nn.relu))


def _pre_norm(work, w, name, x, attend):
    """x + f(norm(x))."""
    y = _norm(w, f"{name}.attention_norm", x)
    x = x + _attend(work, w, f"{name}.attention", y, y, attend)
    return x + _feed_forward(
        w, name, _norm(w, f"{name}.feed_forward_norm", x),
        functools.partial(jax.nn.gelu, approximate=False))


def translation(work):
    def loss(w, source, target_input, target):
        def embed(side, ids):
            return (w[f"{side}.embedding.weight"][ids] * work.hidden**0.5
                    + step_data.sinusoids(ids.shape[1], work.hidden))

        memory = embed("encoder", source)
        for layer in range(work.layers):
            memory = _post_norm(work, w, f"encoder.layers.{layer}", memory,
                                _ALL)
        x = embed("decoder", target_input)
        for layer in range(work.layers):
            x = _post_norm(work, w, f"decoder.layers.{layer}", x, _CAUSAL,
                           memory)
        return cross_entropy(_linear(w, "decoder.output", x), target)

    return loss


def _logits(w, x):
    return _norm(w, "norm", x) @ w["embedding.weight"].T


def language_model(work):
    def loss(w, ids, target):
        x = w["embedding.weight"][ids] + w["position_embedding.weight"]
        for layer in range(work.layers):
            x = _pre_norm(work, w, f"layers.{layer}", x, _CAUSAL)
        return cross_entropy(_logits(w, x), target)

    return loss


def generate(work):
    """Returns a function (weights, prompt [B]) -> log probabilities, ids."""
    shape = (work.layers, work.batch, work.target_time, work.heads,
             work.hidden // work.heads)

    def run(w, prompt):
        def step(carry, time):
            total, ids, keys, values = carry
            x = (w["embedding.weight"][ids]
                 + w["position_embedding.weight"][time])[:, None]
            seen = (jnp.arange(work.target_time) <= time)[None, None, None]
            for layer in range(work.layers):
                def attend(q, k, v, layer=layer):
                    nonlocal keys, values
                    at = (layer, 0, time, 0, 0)
                    keys = jax.lax.dynamic_update_slice(keys, k[None], at)
                    values = jax.lax.dynamic_update_slice(values, v[None], at)
                    return _ALL(q, keys[layer], values[layer], mask=seen)

                x = _pre_norm(work, w, f"layers.{layer}", x, attend)
            scores = jax.nn.log_softmax(_logits(w, x[:, 0]), -1)
            ids = jnp.argmax(scores, -1).astype(jnp.int32)
            return (total + jnp.max(scores, -1), ids, keys, values), ids

        first = (jnp.zeros(work.batch), prompt, jnp.zeros(shape),
                 jnp.zeros(shape))
        (total, _, _, _), ids = jax.lax.scan(step, first,
                                             jnp.arange(work.target_time))
        return total, ids

    return run
