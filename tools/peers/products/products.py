"""Times single matrix products, interleaved: tools/peers/products/run."""

import argparse
import math
import os
import pathlib
import statistics
import subprocess
import sys

# Rows, inner size, columns, and which operands are packed or transposed.
_SHAPES = [
    (1, 256, 8000, "right packed"),
    (8, 256, 768, ""),
    (8, 256, 768, "right packed"),
    (32, 256, 768, ""),
    (32, 256, 768, "right packed"),
    (32, 768, 256, "right transposed"),
    (64, 512, 1536, ""),
    (64, 512, 1536, "right packed"),
    (320, 256, 8000, "right packed"),
    (512, 32, 512, "right transposed"),
    (512, 512, 512, ""),
    (256, 8000, 256, ""),
    (8000, 256, 256, "left transposed"),
    (256, 256, 8000, "right transposed"),
    (1600, 512, 1536, ""),
    (512, 1600, 1536, "left transposed"),
    (1600, 1536, 512, "right transposed"),
]
_TOLERANCE = 1e-4
_TOLERANCE_IN_BFLOAT16 = 1e-2


def _options():
    parser = argparse.ArgumentParser(
        prog="tools/peers/products/run",
        description="Times single matrix products, one thread each.")
    parser.add_argument("--rounds", type=int, default=7,
                        help="turns that each library takes (7)")
    parser.add_argument("--seconds", type=float, default=0.1,
                        help="length of a turn, of processor time (0.1)")
    parser.add_argument("--regard", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, required=True,
                        help=argparse.SUPPRESS)
    return parser.parse_args()


class Library:
    """The program of one library, which waits for shapes."""

    def __init__(self, program, in_bfloat16=False, **settings):
        self._in_bfloat16 = in_bfloat16
        self.tolerance = (_TOLERANCE_IN_BFLOAT16 if in_bfloat16
                          else _TOLERANCE)
        environment = dict(os.environ, OMP_NUM_THREADS="1",
                           MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                           **settings)
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, text=True, bufsize=1)

    def rate(self, shape, seconds):
        """Returns the GFLOP/s and the sum of magnitudes, or None."""
        rows, inner, columns, kind = shape
        flags = [int(kind == flag) for flag in (
            "left transposed", "right transposed", "right packed")]
        flags.insert(2, int(self._in_bfloat16))
        print(rows, inner, columns, *flags, seconds, file=self._process.stdin)
        answer = self._process.stdout.readline().split()
        if not answer:
            raise SystemExit(f"{self._process.args[0]} ended")
        return None if answer == ["-"] else [float(part) for part in answer]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def _cell(rates):
    if not rates:
        return "-"
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} - {max(rates):.0f})"


def main():
    options = _options()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    folder = options.folder
    libraries = {
        "Regard": Library(options.regard),
        "Regard, bfloat16": Library(options.regard, in_bfloat16=True),
        "oneMKL": Library(folder / "mkl"),
        "oneMKL, as Intel": Library(
            folder / "mkl", LD_PRELOAD=str(folder / "mkl_vendor.so")),
        "oneDNN": Library(folder / "onednn"),
        "OpenBLAS": Library(folder / "openblas")}
    # OpenBLAS does not use AVX-512 on processors that it does not know yet.
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        if "avx512bw" in info.read():
            libraries["OpenBLAS, as SkylakeX"] = Library(
                folder / "openblas", OPENBLAS_CORETYPE="SkylakeX")
    print("GFLOP/s of processor time, one thread: median (min - max) of "
          f"{options.rounds} turns of {options.seconds:g} s\n")
    print("| rows x inner x columns | " + " | ".join(libraries) + " |")
    print("| --- |" + " --- |" * len(libraries), flush=True)
    wrong = []
    for shape in _SHAPES:
        rates = {name: [] for name in libraries}
        for _ in range(options.rounds):
            wanted = None
            for name, library in libraries.items():
                found = library.rate(shape, options.seconds)
                if found is None:
                    continue
                wanted = wanted or found[1]
                if not math.isclose(found[1], wanted, rel_tol=library.tolerance):
                    wrong.append(f"{shape}: {name}: {found[1]}, Regard {wanted}")
                rates[name].append(found[0])
        title = " x ".join(str(extent) for extent in shape[:3])
        title += f", {shape[3]}" if shape[3] else ""
        print(f"| {title} | " + " | ".join(map(_cell, rates.values())) + " |",
              flush=True)
    for library in libraries.values():
        library.close()
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
