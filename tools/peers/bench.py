"""Times the same models in Regard and other frameworks: tools/peers/run."""

import argparse
import dataclasses
import importlib.metadata
import math
import pathlib
import subprocess
import sys
import time

import measure
import table
import works


def _options():
    parser = argparse.ArgumentParser(
        prog="tools/peers/run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Times the same models in Regard, PyTorch, JAX, ONNX "
        "Runtime and CTranslate2.",
        epilog="Examples:\n"
        "  tools/peers/run --works=gpt_generate\n"
        "  tools/peers/run --rounds=3 --compile=none --busy")
    parser.add_argument("--works", default="", metavar="NAME,NAME",
                        help="workloads to time (default: all)")
    parser.add_argument("--precision", default="float32",
                        choices=("float32", "bfloat16"),
                        help="precision of the operands of matrix products; "
                        "with bfloat16, frameworks without such products are "
                        "left out, and Regard also runs in float32 (default: "
                        "%(default)s)")
    parser.add_argument("--rounds", type=int, default=10,
                        help="number of interleaved turns of each framework "
                        "(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="length of a turn in seconds, with at least one "
                        "step (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=300,
                        help="seconds within which a framework must be ready "
                        "(default: %(default)s)")
    parser.add_argument("--compile", default="all", metavar="NAME,NAME",
                        help="workloads to time with torch.compile, too, or "
                        "none; the first time takes minutes (default: "
                        "%(default)s)")
    parser.add_argument("--busy", action="store_true",
                        help="measures processor time with one thread, for a "
                        "machine that is busy with other work")
    parser.add_argument("--no-growth", dest="growth", action="store_false",
                        help="does not measure growth with B, T, H and V")
    parser.add_argument("--regard-step", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--fma-peak", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--read-peak", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, required=True,
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def _peak(program):
    """Returns the GFLOP/s of fused multiply-adds by number of threads."""
    one, two = subprocess.run([program], check=True, capture_output=True,
                              text=True).stdout.split()
    return {1: float(one), 2: float(two)}


def _machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        facts = dict(line.split(":", 1) for line in info if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}"
                         for name in ("torch", "jax", "onnxruntime",
                                      "ctranslate2", "transformers",
                                      "numpy"))
    return (f"{facts.get('model name', 'unknown processor')}, family "
            f"{facts.get('cpu family')}, model {facts.get('model')}; "
            f"{versions}; Python {sys.version.split()[0]}")


def _precision(options):
    if options.precision == "float32":
        return "All computations are in float32."
    return ("The operands of matrix products are in bfloat16. Regard's kernel: "
            f"{measure.kernel(options)}.")


def _sections(measured, peak, exponents):
    yield "times", table.times(measured, peak)
    if any(result.readable for _, results in measured for result in results):
        yield "reading of weights", table.reading(measured)
    yield "how many times Regard's time", table.comparison(measured)
    yield "only Regard", table.own(measured)
    yield "how many times Regard's memory", table.memory(measured)
    if exponents:
        yield "growth: time as extent^exponent", [
            f"* {letter}: {middle:.2f} ({low:.2f} - {high:.2f}), required by "
            f"the arithmetic {needed:.2f}"
            for letter, needed, (middle, low, high) in exponents]
    yield "all forms, before the interleaved rounds", table.forms(measured)


def _report(options, measured, peak, exponents, problems):
    lines = [_machine(), "",
             time.strftime("%Y-%m-%d") + f", {options.rounds} turns of "
             f"{options.seconds:g} s each"
             + (", one thread; times are processor time, beside other work."
                if options.busy else "."), "",
             _precision(options), "",
             "Peak of float32 multiply-adds, best of all workloads: "
             f"{peak[1]:.0f} GFLOP/s with one thread, {peak[2]:.0f} with two"]
    for title, rows in _sections(measured, peak, exponents):
        lines += ["", f"## {title}", "", *rows]
    if problems:
        lines += ["", "## problems", ""] + [f"* {p}" for p in problems]
    text = "\n".join(lines) + "\n"
    (options.folder / "results.md").write_text(text, encoding="utf-8")
    return text


def main():
    options = _options()
    if options.busy or options.precision == "bfloat16":
        # Targets are for float32 and an idle machine.
        no_targets = {field.name: field.default
                      for field in dataclasses.fields(works.Work)
                      if field.name in works.TARGETS}
    else:
        no_targets = {}
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = ([works.by_name(name) for name in options.works.split(",")]
              if options.works else works.with_products()
              if options.precision == "bfloat16" else works.WORKS)
    chosen = [dataclasses.replace(work, **no_targets) for work in chosen]
    measured, exponents, problems = [], [], []
    peak = {1: 0, 2: 0}
    for work in chosen:
        # Measures the peak several times, because another process may slow down
        # a core for a moment.
        for threads, rate in _peak(options.fma_peak).items():
            peak[threads] = max(peak[threads], rate)
        measured.append((work, measure.measure(work, options, problems)))
        # Reports after each workload, so that an interrupted run keeps its
        # results.
        _report(options, measured, peak, exponents, problems)
    if options.growth:
        exponents = [(letter, math.log2(grown.gigaflops() / base.gigaflops()),
                      measure.growth(base, grown, options))
                     for letter, base, grown in works.growth()]
    print(_report(options, measured, peak, exponents, problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
