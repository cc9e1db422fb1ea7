"""The benchmark of ONNX Runtime. --form: idiomatic or tuned."""

import pathlib
import subprocess
import sys
import tempfile

import contender
import numpy as np
import onnxruntime
import step_data
import works

_HERE = pathlib.Path(__file__).parent


def _session(threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "model.onnx")
        subprocess.run([sys.executable, _HERE / "onnx_export.py",
                        f"--path={path}", *sys.argv[1:]], check=True,
                       stdout=sys.stderr)
        return onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"])


def _generator(work, session):
    """Returns a function that continues the prompts: ids [target_time, B]."""
    outputs = [entry.name for entry in session.get_outputs()]
    names = [entry.name for entry in session.get_inputs()]
    empty = np.zeros((work.batch, work.heads, 0, work.hidden // work.heads),
                     np.float32)
    as_value = onnxruntime.OrtValue.ortvalue_from_numpy
    prompts = as_value(step_data.prompts(work))

    def search():
        read, found = [prompts] + [as_value(empty)] * (len(names) - 1), []
        for _ in range(work.target_time):
            read = session.run_with_ort_values(outputs, dict(zip(names, read)))
            found.append(read[0].numpy()[:, 0])
        return np.array(found)

    return search


def _given(work):
    if work.kind == works.CLASSIFICATION:
        pixels, _ = step_data.images(work)
        return {"pixels": pixels.astype(np.float32)}
    ids = step_data.text(work.batch * work.source_time, work.source_vocabulary)
    ids = ids.reshape(work.batch, work.source_time)
    return {"ids": ids, "mask": np.ones_like(ids)}


def main():
    arguments = contender.parse_arguments()
    contender.pin(arguments.threads)
    work = works.by_name(arguments.work)
    session = _session(arguments.threads)
    if work.kind == works.CONTINUATION:
        search = _generator(work, session)

        def search_step(count):
            for _ in range(count):
                search()

        contender.serve(search_step, lambda: search().flatten().tolist())
        return
    given = _given(work)
    # Omits the masks if the exported model has no such input.
    fed = {entry.name: given[entry.name] for entry in session.get_inputs()}

    def step(count):
        for _ in range(count):
            session.run(None, fed)

    contender.serve(step, lambda: session.run(None, fed)[0][-1].tolist())


if __name__ == "__main__":
    main()
