"""Runs of Regard in Python: metrics, attention maps, weights, predictions.

    import regard

    run = regard.Run("runs/phrasebook")
    run.curves()["dev/loss"].plot()
    run.predict("they are watching .")

Arrays are NumPy arrays. Only functions that return a data frame need pandas.
docs/python.md shows examples.
"""

import dataclasses
import importlib.metadata
import json
import math
import pathlib
import shutil
import subprocess

import numpy as np

# Path of the command `regard`. If None, uses the command that is installed with
# this module. Without such a command, uses the first `regard` on the PATH.
PROGRAM = None

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2",
           "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
           "U8": "u1", "BOOL": "?"}


class Error(Exception):
    """An invalid folder or input. The message states the problem."""


@dataclasses.dataclass
class Map:
    """Attention weights of all heads of a layer, before dropout."""

    title: str
    site: str  # hook point, such as "decoder/attention/weights"; may be empty
    rows: list  # names of the queries, such as the words written
    columns: list  # names of the keys, such as the words read
    weights: np.ndarray  # [heads, rows, columns]
    # Gradients of the output with respect to the weights, in the same shape.
    gradients: np.ndarray = None
    gold: list = ()  # [row, column] of each link of the gold alignment

    def frame(self, head=0):
        """Returns the weights of one head as a data frame."""
        return _pandas().DataFrame(self.weights[head], self.rows, self.columns)


class Run:
    """A run folder. docs/run_folder.md describes its files.

    Reading never changes the folder. A run may still be training, so properties
    read their file on each access.
    """

    def __init__(self, folder="runs/latest"):
        self.folder = pathlib.Path(folder)
        if not (self.folder / "run.json").is_file():
            raise Error(f"{folder} is not a run folder: it has no run.json")

    def __repr__(self):
        return f"regard.Run({str(self.folder)!r})"

    @property
    def status(self):
        """The content of status.json: `state`, `step`, `metrics` and more."""
        return self._json("status.json")

    @property
    def metrics(self):
        """The last value of each metric."""
        return _numbers(self.status["metrics"])

    @property
    def baseline(self):
        """The run of the config's baseline, or None."""
        folder = self.folder / "baseline"
        return Run(folder) if (folder / "run.json").is_file() else None

    def records(self):
        """Returns the lines of metrics.jsonl, in the order written."""
        return _json_lines(self.folder / "metrics.jsonl")

    def curves(self):
        """Returns a data frame with one row per step and one column per metric."""
        pandas = _pandas()
        rows = [{"step": record["step"], **_numbers(record["metrics"])}
                for record in self.records()]
        if not rows:
            return pandas.DataFrame(index=pandas.Index([], name="step"))
        return pandas.DataFrame(rows).groupby("step").last()

    def examples(self):
        """Returns a data frame with a row for each example of dev and test.

        The column `set` is dev, test, or test_apart for examples unlike the
        training data. Other columns depend on the task, such as `input` and
        `output`.
        """
        rows, name = [], ""
        for value in _json_lines(self.folder / "examples.jsonl"):
            if "examples" in value:  # a header
                metric = value["metrics"][0]["name"]
                name = metric.partition("/")[0]
                name += "_apart" if metric.endswith("_apart") else ""
            else:
                value.pop("statistics", None)
                rows.append({"set": name, **value})
        return _pandas().DataFrame(rows)

    def maps(self):
        """Returns the attention maps that the report shows."""
        return [_map(entry) for entry in self._json("attention.json")["maps"]]

    def weights(self, step=None):
        """Returns the parameters by name, of the last checkpoint or of `step`.

        Without `step`, returns the weights that programs predict with. With
        early stopping or averages, these are not the last weights.
        """
        folder = self.folder / "checkpoints"
        if (self.folder / "checkpoints.json").is_file():
            folder = pathlib.Path(self._json("checkpoints.json")["path"])
        steps = {int(path.parent.name[len("step-"):]): path.parent
                 for path in folder.glob("step-*/manifest.json")
                 if path.parent.name[len("step-"):].isdigit()}
        if not steps:
            raise Error(f"{folder} has no checkpoint")
        if step is not None and step not in steps:
            raise Error(f"{folder} has no checkpoint of step {step}; it has "
                        + ", ".join(str(known) for known in sorted(steps)))
        checkpoint = steps[max(steps) if step is None else step]
        best = checkpoint / "best.safetensors"
        if step is None and best.is_file():
            return read_arrays(best)
        return read_arrays(checkpoint / "weights.safetensors")

    def predict(self, inputs, *flags):
        """Returns predictions as objects in the format of docs/json.md.

        Args:
          inputs: a text gives an object; a list of texts gives a list. The content
            of a text depends on the task: see `regard predict --help`.
          *flags: flags of `regard predict`, such as "--top=3".
        """
        if isinstance(inputs, str):
            return self.predict([inputs], *flags)[0]
        inputs = list(inputs)
        for text in inputs:
            if "\n" in text or "\r" in text:
                raise Error(f"an input must be one line, found {text!r}")
        if not inputs:
            return []
        output = call("predict", f"--run={self.folder}", "--json", *flags,
                      text="".join(text + "\n" for text in inputs))
        return [json.loads(line) for line in output.split("\n") if line]

    def inspect(self, text, *flags):
        """Explains a prediction by the `inspect` object of docs/json.md.

        Its `maps` are Map objects. `regard inspect --help` lists the flags.
        """
        seen = json.loads(call("inspect", f"--run={self.folder}", "--json",
                               *flags, "--", text))
        seen["maps"] = [_map(entry) for entry in seen.get("maps", [])]
        return seen

    def _json(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


def runs(folder="runs"):
    """Returns a data frame of the runs below a folder, with their metrics."""
    listed = json.loads(call("runs", "--json", str(folder)))["runs"]
    rows = [{"run": entry["run"], "state": entry.get("state", "unreadable"),
             "step": entry.get("step"), **_numbers(entry.get("metrics", {}))}
            for entry in listed]
    return _pandas().DataFrame(rows, columns=None if rows else ["run"]
                               ).set_index("run")


def cells(folder):
    """Returns a data frame of the finished runs of a sweep, with metrics."""
    rows = []
    for cell in _json_lines(pathlib.Path(folder) / "cells.jsonl"):
        rows.append({"arm": cell.pop("arm"), "seed": cell.pop("seed"),
                     **_numbers(cell.pop("metrics")), **cell})
    return _pandas().DataFrame(rows)


def read_arrays(path):
    """Returns the arrays of a safetensors file by name.

    Checkpoints, `inspect --arrays` and `replay` write such files.
    """
    data = bytearray(pathlib.Path(path).read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    names = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        values = np.frombuffer(data, dtype, (last - first) // dtype.itemsize,
                               begin + first)
        if entry["dtype"] == "BF16":
            values = (values.astype("<u4") << 16).view("<f4")
        arrays[name] = values.reshape(entry["shape"])
    # A tied parameter is stored only once.
    for alias, name in names.items():
        if name in arrays:
            arrays[alias] = arrays[name]
    return arrays


def call(*arguments, text=None):
    """Runs `regard ARGUMENTS...`, and returns its output.

    Args:
      *arguments: such as "compare", "--json", "runs/a", "runs/b".
      text: the standard input of the program; empty by default.

    Raises:
      Error: with the program's message, if its exit code is not 0.
    """
    done = subprocess.run([program(), *map(str, arguments)], input=text or "",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)
    if done.returncode != 0:
        raise Error(done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout


def program():
    """Returns the path of the command `regard`."""
    if PROGRAM is not None:
        return str(PROGRAM)
    try:
        for file in importlib.metadata.files("regard") or ():
            if file.parent.name == "bin" and file.name == "regard":
                return str(file.locate())
    except importlib.metadata.PackageNotFoundError:
        pass
    found = shutil.which("regard")
    if found is None:
        raise Error("the command `regard` is not on the PATH; set "
                    "regard.PROGRAM to its path")
    return found


def _pandas():
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ImportError("data frames require pandas: pip install pandas"
                          ) from error
    return pandas


def _json_lines(path):
    text = path.read_text(encoding="utf-8")
    # A last line without a newline is still being written. Only "\n" ends a
    # line, because texts may contain other Unicode separators.
    return [json.loads(line) for line in text.split("\n")[:-1]]


def _numbers(metrics):
    """Replaces null, which JSON has for numbers that are not finite, by NaN."""
    return {name: math.nan if value is None else value
            for name, value in metrics.items()}


def _map(entry):
    shape = (-1, len(entry["rows"]), len(entry["columns"]))

    def array(name):
        return np.array(entry[name], dtype=np.float32).reshape(shape)

    return Map(title=entry.get("title", entry.get("name", "")),
               site=entry.get("site", ""), rows=entry["rows"],
               columns=entry["columns"], weights=array("heads"),
               gradients=array("gradients") if "gradients" in entry else None,
               gold=entry.get("gold", []))
