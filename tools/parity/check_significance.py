"""Compares the significance tests of //tools:compare with sacreBLEU.

    check_significance.py bazel-bin/tools/compare [--corpora=N] [RUN...]

The options of sacreBLEU are --confidence, --paired-bs and --paired-ar.

Each RUN is a run of raw text. The statistics in its examples.jsonl must equal
the statistics that sacreBLEU extracts from the same outputs. Then makes N pairs
of runs from random corpora, and compares the results of both programs. Random
numbers differ, so p-values and half widths agree only within their sampling
error. Prints the largest differences in standard errors and as a ratio.
sacreBLEU counts resamples with a difference greater than the observed one;
Regard also counts equal differences. TER has many equal differences, so this
script makes sacreBLEU count them, too.

Requires sacrebleu 2.6 and numpy (pip).
"""

import argparse
import json
import math
import pathlib
import random
import re
import subprocess
import tempfile

from sacrebleu import significance
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

import write_translation_scores

METRICS = {"bleu": BLEU(), "chrf": CHRF(), "chrf++": CHRF(word_order=2),
           "ter": TER()}
RESAMPLES, TRIALS = 1000, 10000


def p_value(statistics, difference):
    extreme = (statistics >= difference - 1e-9).sum().item()
    return (extreme + 1) / (len(statistics) + 1)


significance._compute_p_value = p_value


def statistics_of(metric, outputs, references):
    rows = metric._extract_corpus_statistics(outputs, [references])
    return [[float(x) for x in row] for row in rows]


def check_run(run):
    """Compares the statistics of a run of raw text with sacreBLEU."""
    lines = [json.loads(line)
             for line in open(run / "examples.jsonl", encoding="utf-8")]
    while lines:
        header, lines = lines[0], lines[1:]
        rows, lines = lines[:header["examples"]], lines[header["examples"]:]
        for column, info in enumerate(header["metrics"]):
            metric = METRICS.get(info["aggregate"])
            if metric is None:
                continue
            theirs = statistics_of(metric, [row["output"] for row in rows],
                                   [row["reference"] for row in rows])
            ours = [row["statistics"][column] for row in rows]
            print(f"{run} {info['name']}: {len(rows)} examples, "
                  f"{sum(a != b for a, b in zip(ours, theirs))} differ")
            assert ours == theirs


def write_run(folder, outputs, references):
    """Writes a run folder with the files that compare reads."""
    folder.mkdir()
    columns, scores = [], {}
    for name, metric in METRICS.items():
        columns.append(statistics_of(metric, outputs, references))
        scores["test/" + name] = metric.corpus_score(
            outputs, [references]).score
    header = {"examples": len(outputs), "length_unit": "words", "metrics": [
        {"name": "test/" + name, "aggregate": name, "width": len(column[0]),
         "of_single_examples": False}
        for name, column in zip(METRICS, columns)]}
    with open(folder / "examples.jsonl", "w", encoding="utf-8") as file:
        print(json.dumps(header), file=file)
        for i, (output, reference) in enumerate(zip(outputs, references)):
            print(json.dumps({"input": str(i), "reference": reference,
                              "output": output, "length": 1,
                              "statistics": [column[i] for column in columns]}),
                  file=file)
    (folder / "run.json").write_text('{"format_version":2,"metrics":[]}')
    (folder / "resolved.textproto").write_text(f'name: "{folder.name}"\n'
                                               f'seed: 1\n'
                                               f'other: "{folder.name}"\n')
    (folder / "status.json").write_text(json.dumps(
        {"state": "finished", "step": 1, "metrics": scores,
         "weights_digest": ""}))
    return scores


def parse(text):
    """Returns {metric: (difference, half width, two p-values)}, intervals."""
    tests = {}
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if len(cells) == 10 and cells[0].startswith("test/"):
            tests[cells[0][5:]] = [float(cells[5])] + [
                float(p.lstrip("<")) for p in cells[7:9]]
    rows = [re.split(r"  +", line.strip()) for line in text.splitlines()
            if re.search(r"\(\S+ \[", line) and "test/" not in line]
    names = re.search(r"run +seed +(test/.*)", text).group(1).split()
    last = rows[1][-len(names):]
    intervals = {}
    for name, cell in zip(names, last):
        mean, low, high = map(float, re.search(
            r"\((\S+) \[(\S+), (\S+)\]\)", cell).groups())
        intervals[name[5:]] = (mean, (high - low) / 2)
    return tests, intervals


def errors_between(p, q, draws):
    middle = (p + q) / 2
    error = math.sqrt(max(middle * (1 - middle), 1 / draws) * 2 / draws)
    return abs(p - q) / error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("compare")
    parser.add_argument("--corpora", type=int, default=5)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("runs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    for run in arguments.runs:
        check_run(run)
    rng = random.Random(1)
    worst = {"bootstrap p": 0, "randomization p": 0, "half width": 1}
    for corpus in range(arguments.corpora):
        references = [write_translation_scores.sentence(rng)
                      for _ in range(arguments.lines)]
        baseline = [write_translation_scores.varied(rng, s) for s in references]
        # With these fractions, `system` ranges from hardly better to clearly
        # worse than the baseline.
        share = rng.choice([0, 0.02, 0.05, 0.1])
        system = [write_translation_scores.varied(rng, s)
                  if rng.random() < share
                  else (b if rng.random() < 0.5 else
                        write_translation_scores.varied(rng, s))
                  for s, b in zip(references, baseline)]
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            before = write_run(folder / "a", baseline, references)
            after = write_run(folder / "b", system, references)
            text = subprocess.run(
                [arguments.compare, folder / "a", folder / "b"],
                check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        tests, intervals = parse(text)
        named = [("a", baseline), ("b", system)]
        theirs = {}
        for kind in ["bs", "ar"]:
            _, scores = PairedTest(named, METRICS, [references], test_type=kind,
                                   n_ar_confidence=0)()
            # The keys are the names of sacreBLEU's metrics.
            theirs[kind] = [scores[key][1] for key in scores if key != "System"]
        for i, name in enumerate(METRICS):
            difference, by_bootstrap, by_randomization = tests[name]
            exact = after["test/" + name] - before["test/" + name]
            assert abs(difference - exact) <= 1e-3 * abs(exact) + 1e-9, name
            bs, ar = theirs["bs"][i], theirs["ar"][i]
            mean, width = intervals[name]
            assert abs(mean - bs.mean) < 0.2 * bs.ci, name
            ratio = max(width / bs.ci, bs.ci / width)
            worst["half width"] = max(worst["half width"], ratio)
            worst["bootstrap p"] = max(
                worst["bootstrap p"],
                errors_between(by_bootstrap, bs.p_value, RESAMPLES))
            worst["randomization p"] = max(
                worst["randomization p"],
                errors_between(by_randomization, ar.p_value, TRIALS))
            print(f"corpus {corpus} {name}: {exact:+.3f}; bootstrap p "
                  f"{by_bootstrap:.4f} and {bs.p_value:.4f}; randomization p "
                  f"{by_randomization:.4f} and {ar.p_value:.4f}; half width "
                  f"{width} and {bs.ci:.4g}")
    print("greatest:", worst)
    assert worst["bootstrap p"] < 4.5 and worst["randomization p"] < 4.5
    assert worst["half width"] < 1.25


if __name__ == "__main__":
    main()
