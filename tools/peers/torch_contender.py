"""The benchmark of PyTorch. --form: idiomatic or tuned, or compiled_....

With --precision=bfloat16, autocast selects the operations in bfloat16.
"""

import contextlib
import math

import contender
import torch
import torch_attention
import torch_classifier
import torch_embedder
import torch_gpt2
import torch_models
import torch_transformer_search
import torch_transformers
import torch_translator
import weights as weights_of
import works


def _sum_of_squares(model):
    return sum(float((p.grad.double()**2).sum()) for p in model.parameters())


def _precision(precision):
    """Returns a context in which products have this precision."""
    if precision == "bfloat16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext()


def _serve_forward(model, inputs, compiled, numbers):
    """`numbers` of an output must agree between frameworks."""
    compute = torch.compile(model, dynamic=False) if compiled else model

    def step(count):
        with torch.inference_mode():
            for _ in range(count):
                output = compute(*inputs)
        return output

    contender.serve(step, lambda: numbers(step(1)))


def _make(work, weights, form, tuned):
    if work.kind in (works.ATTENTION, works.ATTENTION_FORWARD):
        return torch_attention.make(work, form)
    if work.kind == works.EMBEDDING:
        return torch_embedder.Embedder(work, weights, tuned)
    if work.kind == works.CLASSIFICATION:
        return torch_classifier.Classifier(work, weights, tuned)
    if work.kind == works.CONTINUATION:
        return torch_gpt2.make(work, weights, tuned)
    if work.kind == works.TRANSFORMER_SEARCH:
        return torch_transformer_search.make(work, weights, tuned)
    return (torch_models.make(work, weights, tuned)
            or torch_transformers.make(work, weights, tuned)
            or torch_translator.make(work, weights, tuned))


def _serve_inference(work, model, compiled):
    if work.kind == works.EMBEDDING:
        _serve_forward(model, torch_embedder.inputs(work), compiled,
                       lambda vectors: vectors[-1].tolist())
    elif work.kind == works.CLASSIFICATION:
        _serve_forward(model, torch_classifier.inputs(work), compiled,
                       lambda classes: classes[-1].tolist())
    elif work.kind == works.CONTINUATION:
        if compiled:
            model.step = torch.compile(model.step)
        _serve_forward(model.search, (), False,
                       lambda ids: ids.flatten().tolist())
    elif work.kind == works.ATTENTION_FORWARD:
        _serve_forward(model.attend, (), compiled, model.numbers)
    else:
        search = model.search
        if compiled:
            model.step = torch.compile(model.step)

        def search_step(count):
            for _ in range(count):
                search(work.beam)

        contender.serve(search_step,
                        lambda: [float(search(work.beam).mean())])


def _serve_training(work, model, form, precision):
    loss_of = (torch.compile(model, dynamic=False)
               if form.startswith("compiled_") else model)
    updates = work.kind in works.TRAINING
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3,
                                 fused=True if form.endswith("tuned") else None)
    losses = []

    def step(count):
        for _ in range(count):
            optimizer.zero_grad()
            with _precision(precision):
                loss = loss_of()
            loss.backward()
            if updates:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        losses.append(float(loss.detach()))

    def check():
        losses.clear()
        step(1)
        if not updates:
            return [losses[0], math.sqrt(_sum_of_squares(model))]
        step(4)
        return losses

    contender.serve(step, check)


def main():
    arguments = contender.parse_arguments()
    contender.pin(arguments.threads)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    work = works.by_name(arguments.work)
    form = arguments.form
    weights = weights_of.load(work, arguments.weights)
    model = _make(work, weights, form, tuned=form.endswith("tuned"))
    if work.kind in works.FORWARD:
        # All steps share one context. At its end, autocast would discard the
        # weights that it has converted.
        with _precision(arguments.precision):
            _serve_inference(work, model, form.startswith("compiled_"))
    else:
        _serve_training(work, model, form, arguments.precision)


if __name__ == "__main__":
    main()
