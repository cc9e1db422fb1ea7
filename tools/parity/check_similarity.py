#!/usr/bin/env python3
"""Compares the correlations of //tools:evaluate with scipy.

The embeddings come from //tools:embed, which check_embeddings.py compares with
transformers.

    pip install scipy
    tools/bazel build //tools:embed //tools:evaluate
    tools/parity/check_similarity.py MODEL_FOLDER FILE.tsv

Lines are TEXT<TAB>TEXT<TAB>NUMBER. Exits with 1 if a number differs by more
than 1e-6.
"""

import json
import pathlib
import subprocess
import sys

import numpy
from scipy import stats


def vectors(folder, texts):
    output = subprocess.run(
        ["bazel-bin/tools/embed", f"--run={folder}"], check=True,
        input="\n".join(texts).encode() + b"\n", stdout=subprocess.PIPE).stdout
    return numpy.array(
        [[float(x) for x in line.split()] for line in output.splitlines()])


def main():
    folder, file = sys.argv[1:]
    rows = [line.split("\t")
            for line in pathlib.Path(file).read_text("utf-8").splitlines()]
    first, second, numbers = zip(*rows)
    cosines = numpy.sum(vectors(folder, first) * vectors(folder, second), 1)
    numbers = numpy.array(numbers, float)
    wanted = {"test/spearman": stats.spearmanr(cosines, numbers).statistic,
              "test/pearson": stats.pearsonr(cosines, numbers).statistic,
              "test/loss": numpy.mean((cosines - numbers) ** 2)}
    got = json.loads(subprocess.run(
        ["bazel-bin/tools/evaluate", f"--run={folder}", "--json", "--set",
         f"data.path={file}"], check=True, stdout=subprocess.PIPE).stdout)
    failed = False
    for name, value in wanted.items():
        difference = abs(got["metrics"][name] - value)
        failed |= not difference <= 1e-6
        print(f"{name}: {value:.7f}, {len(rows)} pairs, difference "
              f"{difference:.1e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
