"""Writes the model of a workload for ONNX Runtime, in a separate process.

A separate process keeps the memory of the export out of the measurement. The
model is exported from PyTorch's model of the same form. The tuned model is also
optimized by the runtime's optimizer for Transformers.
"""

import sys

import contender
import torch
import torch_classifier
import torch_embedder
import torch_gpt2
import weights as weights_of
import works
from onnxruntime.transformers import optimizer


def _export_generator(work, weights, tuned, path):
    """Exports one model for prompts and single ids. Both sizes are dynamic."""
    model = torch_gpt2.Exported(work, weights, tuned).eval()
    ids = torch.ones((work.batch, 3), dtype=torch.int64)
    shape = (work.batch, work.heads, 5, work.hidden // work.heads)
    past = [torch.zeros(shape) for _ in range(2 * work.layers)]
    names = [f"past.{i}" for i in range(len(past))]
    kept = [f"kept.{i}" for i in range(len(past))]
    torch.onnx.export(
        model, (ids, *past), path, input_names=["ids", *names],
        output_names=["likeliest", *kept], dynamo=False,
        dynamic_axes={"ids": {1: "n"}, **{name: {2: "past"} for name in names},
                      **{name: {2: "all"} for name in kept}})


def main():
    arguments = contender.parse_arguments(path=True)
    path, work = arguments.path, works.by_name(arguments.work)
    weights = weights_of.load(work, arguments.weights)
    tuned = arguments.form == "tuned"
    # Only answers may go to standard output.
    sys.stdout = sys.stderr
    with torch.no_grad():
        if work.kind == works.CONTINUATION:
            _export_generator(work, weights, tuned, path)
        elif work.kind == works.CLASSIFICATION:
            torch.onnx.export(
                torch_classifier.Classifier(work, weights, tuned),
                torch_classifier.inputs(work), path, input_names=["pixels"],
                output_names=["log_probabilities"], dynamo=True,
                external_data=False)
        else:
            torch.onnx.export(
                torch_embedder.Embedder(work, weights, tuned),
                torch_embedder.inputs(work), path,
                input_names=["ids", "mask"], output_names=["vectors"],
                dynamo=True, external_data=False)
    if tuned:
        kind = {works.EMBEDDING: "bert", works.CLASSIFICATION: "vit",
                works.CONTINUATION: "gpt2"}[work.kind]
        optimizer.optimize_model(
            path, model_type=kind, num_heads=work.heads,
            hidden_size=work.hidden).save_model_to_file(path)


if __name__ == "__main__":
    main()
