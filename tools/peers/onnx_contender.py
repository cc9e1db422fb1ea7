"""ONNX Runtime's side of the bench. --form: idiomatic or tuned.

The model is PyTorch's of that form, exported; the tuned one has also passed the
optimiser for Transformers that comes with the runtime.
"""

import contextlib
import pathlib
import sys
import tempfile

import contender
import onnxruntime
import torch
import torch_embedder
import weights as weights_of
import works
from onnxruntime.transformers import optimizer


def _export(work, weights, tuned, path):
    model = torch_embedder.Embedder(work, weights, tuned)
    with torch.no_grad():
        torch.onnx.export(model, torch_embedder.inputs(work), path,
                          input_names=["ids", "mask"],
                          output_names=["vectors"], dynamo=True,
                          external_data=False)


def _session(work, weights, tuned, options):
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "model.onnx")
        _export(work, weights, tuned, path)
        if tuned:
            fused = optimizer.optimize_model(
                path, model_type="bert", num_heads=work.heads,
                hidden_size=work.hidden)
            fused.save_model_to_file(path)
        return onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"])


def main():
    arguments = contender.parse_arguments()
    contender.pin(arguments.threads)
    work = works.by_name(arguments.work)
    weights = weights_of.load(work, arguments.weights)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    options.inter_op_num_threads = 1
    # Standard output is for answers.
    with contextlib.redirect_stdout(sys.stderr):
        session = _session(work, weights, arguments.form == "tuned", options)
    ids, mask = torch_embedder.inputs(work)
    # An export without masks has no such input.
    given = {"ids": ids.numpy(), "mask": mask.numpy()}
    fed = {entry.name: given[entry.name] for entry in session.get_inputs()}

    def step(count):
        for _ in range(count):
            session.run(None, fed)

    contender.serve(step, lambda: session.run(None, fed)[0][-1].tolist())


if __name__ == "__main__":
    main()
