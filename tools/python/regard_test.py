#!/usr/bin/env python3
"""Tests of the module `regard` on folders made here.

Requires numpy and pandas. .ci/check_python_page runs it where the wheel is
installed.
"""

import json
import math
import pathlib
import struct
import tempfile
import unittest

import numpy as np
import regard

_STATUS = {"state": "running", "step": 4,
           "metrics": {"dev/loss": None, "train/loss": 0.5}}


def write_arrays(path, arrays, metadata=None):
    """Writes a safetensors file of names, types, shapes and bytes."""
    header, data = {"__metadata__": {"format": "pt", **(metadata or {})}}, b""
    for name, (dtype, shape, content) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


class RegardTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "run"
        self.write("run.json", "{}")
        self.write("status.json", json.dumps(_STATUS))
        self.run_folder = regard.Run(self.folder)
        self.addCleanup(setattr, regard, "PROGRAM", regard.PROGRAM)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def program(self, script):
        """Makes `script` the command `regard`."""
        self.write("program", "#!/bin/sh\n" + script)
        (self.folder / "program").chmod(0o755)
        regard.PROGRAM = self.folder / "program"

    def test_folder_without_a_run_is_an_error(self):
        with self.assertRaisesRegex(regard.Error, "has no run.json"):
            regard.Run(self.folder / "nothing")

    def test_metric_that_is_not_finite_is_nan(self):
        self.assertEqual(self.run_folder.status["step"], 4)
        self.assertEqual(self.run_folder.metrics["train/loss"], 0.5)
        self.assertTrue(math.isnan(self.run_folder.metrics["dev/loss"]))

    def test_curves_have_the_last_value_of_a_step_and_no_torn_line(self):
        self.write("metrics.jsonl",
                   '{"step":1,"metrics":{"train/loss":2}}\n'
                   '{"step":2,"metrics":{"train/loss":1}}\n'
                   '{"step":2,"metrics":{"dev/loss":null,"train/loss":3}}\n'
                   '{"step":3,"metr')
        self.assertEqual(len(self.run_folder.records()), 3)
        curves = self.run_folder.curves()
        self.assertEqual(curves["train/loss"].to_dict(), {1: 2, 2: 3})
        self.assertTrue(curves["dev/loss"].isna().all())

    def test_curves_of_a_run_that_has_just_begun_are_empty(self):
        self.write("metrics.jsonl", "")
        self.assertEqual(len(self.run_folder.curves()), 0)

    def test_examples_know_their_set_and_keep_separators_of_unicode(self):
        header = '{"examples":1,"metrics":[{"name":"%s"}]}\n'
        self.write("examples.jsonl",
                   header % "dev/bleu" +
                   '{"input":"a\u2028b\u0085c","statistics":[[1]]}\n' +
                   header % "test/bleu_apart" + '{"input":"d"}\n')
        examples = self.run_folder.examples()
        self.assertEqual(list(examples["set"]), ["dev", "test_apart"])
        self.assertEqual(list(examples["input"]), ["a\u2028b\u0085c", "d"])
        self.assertNotIn("statistics", examples)

    def test_maps_are_arrays_by_head(self):
        self.write("attention.json", json.dumps({"maps": [{
            "title": "t", "rows": ["x", "y"], "columns": ["a", "b", "c"],
            "heads": [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 1, 2]]]}]}))
        seen = self.run_folder.maps()[0]
        self.assertEqual(seen.weights.shape, (2, 2, 3))
        self.assertEqual(seen.weights[1, 0, 2], 9)
        self.assertIsNone(seen.gradients)
        self.assertEqual(list(seen.gold), [])
        self.assertEqual(seen.frame(1).loc["x", "c"], 9)

    def test_arrays_of_all_types_and_ties(self):
        path = self.folder / "all.safetensors"
        write_arrays(path, {
            "f": ("F32", [1, 2], struct.pack("<2f", 1.5, -2)),
            "d": ("F64", [], struct.pack("<d", 0.1)),
            "h": ("F16", [1], struct.pack("<e", 0.25)),
            "b": ("BF16", [2], b"\x80\x3f\x20\xc0"),
            "i": ("I64", [2], struct.pack("<2q", -1, 2**40)),
            "t": ("BOOL", [2], b"\0\1"),
            "empty": ("F32", [0, 3], b"")}, {"tied": "f"})
        arrays = regard.read_arrays(path)
        np.testing.assert_array_equal(arrays["f"], [[1.5, -2]])
        self.assertEqual(arrays["d"].shape, ())
        self.assertEqual(arrays["d"], 0.1)
        np.testing.assert_array_equal(arrays["h"], [0.25])
        np.testing.assert_array_equal(arrays["b"], [1, -2.5])
        self.assertEqual(arrays["b"].dtype, np.float32)
        np.testing.assert_array_equal(arrays["i"], [-1, 2**40])
        np.testing.assert_array_equal(arrays["t"], [False, True])
        self.assertEqual(arrays["empty"].shape, (0, 3))
        self.assertIs(arrays["tied"], arrays["f"])
        self.assertNotIn("format", arrays)

    def test_weights_are_of_the_last_whole_checkpoint_or_the_chosen(self):
        def save(name, value):
            write_arrays(self.folder / name, {
                "w": ("F32", [1], struct.pack("<f", value))})
        with self.assertRaisesRegex(regard.Error, "has no checkpoint"):
            self.run_folder.weights()
        for step in (9, 10, 11):
            save(f"checkpoints/step-{step}/weights.safetensors", step)
        for step in (9, 10):  # the checkpoint of step 11 is not complete
            self.write(f"checkpoints/step-{step}/manifest.json", "{}")
        self.assertEqual(self.run_folder.weights()["w"][0], 10)
        self.assertEqual(self.run_folder.weights(9)["w"][0], 9)
        with self.assertRaisesRegex(regard.Error, "of step 11; it has 9, 10"):
            self.run_folder.weights(11)
        save("checkpoints/step-10/best.safetensors", 8)
        self.assertEqual(self.run_folder.weights()["w"][0], 8)
        self.assertEqual(self.run_folder.weights(10)["w"][0], 10)

    def test_checkpoints_on_another_disk_are_found(self):
        elsewhere = self.folder / "elsewhere"
        write_arrays(elsewhere / "step-1/weights.safetensors",
                     {"w": ("F32", [1], struct.pack("<f", 1))})
        (elsewhere / "step-1/manifest.json").write_text("{}")
        self.write("checkpoints.json", json.dumps({"path": str(elsewhere)}))
        self.assertEqual(self.run_folder.weights()["w"][0], 1)

    def test_baseline_is_a_run_or_none(self):
        self.assertIsNone(self.run_folder.baseline)
        self.write("baseline/run.json", "{}")
        self.assertEqual(self.run_folder.baseline.folder,
                         self.folder / "baseline")

    def test_predict_gives_each_line_to_the_program(self):
        self.program("""echo "$@" >"${0%/*}/arguments"
sed 's/.*/{"answer":"&"}/'
""")
        self.assertEqual(self.run_folder.predict("a b"), {"answer": "a b"})
        self.assertEqual(self.run_folder.predict(["c", "", "d"], "--top=3"),
                         [{"answer": "c"}, {"answer": ""}, {"answer": "d"}])
        self.assertEqual((self.folder / "arguments").read_text(),
                         f"predict --run={self.folder} --json --top=3\n")
        self.assertEqual(self.run_folder.predict([]), [])
        with self.assertRaisesRegex(regard.Error, "must be one line"):
            self.run_folder.predict("two\nlines")

    def test_failed_program_raises_its_message(self):
        self.program("echo 'error: no such run' >&2; exit 2")
        with self.assertRaisesRegex(regard.Error, "^error: no such run$"):
            regard.call("predict")

    def test_runs_of_an_empty_folder_and_unreadable_runs(self):
        self.program("""echo '{"runs":[]}'""")
        self.assertEqual(len(regard.runs(self.folder)), 0)
        self.program("""echo '{"runs":[{"run":"a","unreadable":"why"},'\
'{"run":"b","state":"finished","step":2,"metrics":{"dev/loss":null}}]}'""")
        runs = regard.runs(self.folder)
        self.assertEqual(list(runs["state"]), ["unreadable", "finished"])
        self.assertTrue(math.isnan(runs.loc["b", "dev/loss"]))

    def test_cells_are_rows(self):
        self.write("cells.jsonl", '{"key":"k","arm":"dot","seed":0,'
                                  '"metrics":{"test/mse":2},"host":"h"}\n')
        self.assertEqual(
            regard.cells(self.folder).to_dict("records"),
            [{"arm": "dot", "seed": 0, "test/mse": 2, "key": "k", "host": "h"}])


if __name__ == "__main__":
    unittest.main()
