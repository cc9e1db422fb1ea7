"""The benchmark of JAX. --form: idiomatic or tuned, both under jit."""

import contender

# Pins the process before importing JAX, because XLA then makes a thread pool
# with as many threads as cores.
ARGUMENTS = contender.parse_arguments()
contender.pin(ARGUMENTS.threads)

# pylint: disable=wrong-import-position
import jax
import jax.numpy as jnp
import jax_models
import jax_search
import jax_transformers
import weights as weights_of
import works


def _norm(gradients):
    return jnp.sqrt(sum(jnp.sum(g * g) for g in gradients.values()))


def _training_step(loss):
    """Forward and backward pass, clipping and Adam, compiled as one function."""
    def step(state, data):
        weights, first, second, count = state
        value, gradients = jax.value_and_grad(loss)(weights, *data)
        factor = jnp.minimum(1.0, 1.0 / (_norm(gradients) + 1e-6))
        count = count + 1
        first_scale = 1e-3 / (1 - 0.9**count)
        second_scale = 1 / (1 - 0.999**count)
        new = ({}, {}, {})
        for name, gradient in gradients.items():
            gradient = gradient * factor
            m = 0.9 * first[name] + 0.1 * gradient
            v = 0.999 * second[name] + 0.001 * gradient * gradient
            update = first_scale * m / (jnp.sqrt(v * second_scale) + 1e-8)
            for part, changed in zip(new, (weights[name] - update, m, v)):
                part[name] = changed
        return (*new, count), value

    return jax.jit(step, donate_argnums=0)


def _train(work, loss, weights, data):
    step = _training_step(loss)
    zeros = {name: jnp.zeros_like(value) for name, value in weights.items()}
    state = (weights, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0))
    losses = []

    def run(count):
        nonlocal state
        for _ in range(count):
            state, value = step(state, data)
        jax.block_until_ready(state)
        losses.append(float(value))

    def check():
        losses.clear()
        run(1)
        run(4)
        return losses

    del work
    contender.serve(run, check)


def _differentiate(work, loss, weights, data):
    # Also computes the gradients of the inputs. The last element of `data` is
    # the fixed output gradient, which needs no gradient.
    inputs = tuple(range(len(data)))
    function = jax.jit(jax.value_and_grad(loss, argnums=inputs))

    def run(count):
        for _ in range(count):
            found = function(weights, *data)
        jax.block_until_ready(found)

    def check():
        value, gradients = function(weights, *data)
        return [float(value), float(_norm(gradients[0]))]

    del work
    contender.serve(run, check)


def _search(work, weights, data):
    search = jax.jit(
        jax_transformers.generate(work) if work.kind == works.GENERATION
        else jax_search.search(work, ARGUMENTS.form == "tuned"))

    def run(count):
        for _ in range(count):
            found = search(weights, data[0])
        jax.block_until_ready(found)

    contender.serve(run,
                    lambda: [float(jnp.mean(search(weights, data[0])[0]))])


def main():
    work = works.by_name(ARGUMENTS.work)
    weights = {name: jnp.asarray(value) for name, value in
               weights_of.load(work, ARGUMENTS.weights).items()
               if name in weights_of.shapes(work)}
    data = tuple(jnp.asarray(array) for array in jax_models.data(work))
    if work.kind in works.SEARCHING:
        _search(work, weights, data)
        return
    loss = jax_models.loss(work, ARGUMENTS.form == "tuned")
    if work.kind in works.TRAINING:
        _train(work, loss, weights, data)
    else:
        _differentiate(work, loss, weights, data)


if __name__ == "__main__":
    main()
