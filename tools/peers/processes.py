"""The programs of the frameworks as processes that wait for commands."""

import dataclasses
import os
import pathlib
import select
import subprocess
import sys

import works

_HERE = pathlib.Path(__file__).parent

# The names of the frameworks in tables.
NAMES = {"regard": "Regard", "torch": "PyTorch", "jax": "JAX",
         "onnx": "ONNX Runtime", "ctranslate2": "CTranslate2",
         "regard_float32": "Regard in float32"}

# Regard in the selected precision, and Regard in float32.
REGARD = ("regard", "regard_float32")
# The frameworks with bfloat16 products on CPUs (README.md).
_IN_BFLOAT16 = ("regard", "torch")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A framework, one form of its program, and its number of threads."""

    engine: str
    form: str
    threads: int
    # Whether oneMKL must assume that the processor is Intel's; see
    # mkl_vendor.c.
    as_intel: bool = False

    def __str__(self):
        form = self.form and f" {self.form.replace('_', ' ')}"
        vendor = ", as Intel" if self.as_intel else ""
        return f"{NAMES[self.engine]}{form}{vendor}, {self.threads} thr."


def _asks_for_vendor(engine):
    """Whether a library of the framework uses slow kernels on this machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return engine == "torch" and "GenuineIntel" not in info.read()


def _forms(engine, work, compiled):
    if work.kind == works.ATTENTION:
        return ["sdpa_flash"]
    if work.kind == works.ATTENTION_FORWARD:
        return ["sdpa_flash"] + ["compiled_flex"] * compiled
    if work.kind == works.CONTINUATION:
        return {"torch": ["idiomatic", "tuned"] + ["compiled_tuned"] * compiled,
                "onnx": ["idiomatic", "tuned"],
                "ctranslate2": ["idiomatic", "tuned", "tuned_together"]}[
                    engine]
    one_form = {
        "torch": (works.ADDITIVE, works.OVERHEAD),
        "jax": (works.ADDITIVE, works.MULTI_HEAD, works.REGRESSION,
                works.TRANSFORMER, works.LANGUAGE_MODEL, works.GENERATION)}
    forms = ["idiomatic"]
    if work.kind not in one_form.get(engine, ()):
        forms.append("tuned")
    if engine == "ctranslate2":
        forms.append("tuned_onemkl")
    if engine == "torch" and compiled and work.kind != works.OVERHEAD:
        forms += [f"compiled_{form}" for form in forms]
    return forms


def engines(work, precision):
    """Returns the frameworks of a workload. The first writes the weights, and
    its results are the reference: Regard in float32."""
    found = ("regard", *work.peers)
    if precision == "float32":
        return found
    return ("regard_float32", *(e for e in found if e in _IN_BFLOAT16))


def entries(work, compiled, one_thread, precision):
    """Returns all programs for a workload: each form, with 1 and 2 threads."""
    alone = one_thread or work.kind == works.OVERHEAD
    threads = (1,) if alone or work.kind == works.REGRESSION else (1, 2)
    found = []
    for engine in engines(work, precision):
        if engine in REGARD:
            found += [Entry(engine, "", count) for count in threads]
            continue
        # In a regression, other frameworks run with 2 threads, too.
        counts = (1,) if alone else (2,) if work.kind in works.LARGE else (
            1, 2)
        vendors = (False, True) if _asks_for_vendor(engine) else (False,)
        if work.kind in works.LARGE:
            vendors = vendors[-1:]
        found += [Entry(engine, form, count, as_intel)
                  for form in _forms(engine, work, compiled)
                  for count in counts for as_intel in vendors]
    return found


class Failure(Exception):
    """Raised if a program has ended, or has not answered in time."""


class Contender:
    """A process of a framework. It is idle at first, and close() ends it."""

    def __init__(self, entry, work, weights, options):
        self.entry = entry
        folder = options.folder
        # The index of the time to use in the answer to "run": 0 for the elapsed
        # seconds, 1 for the processor time.
        self._clock = 1 if options.busy else 0
        self.log = folder / f"{work.name}.{entry}.log".replace(" ", "_")
        if entry.engine in REGARD:
            rounds = (entry.engine == "regard"
                      and options.precision == "bfloat16")
            command = [options.regard_step, f"--threads={entry.threads}",
                       f"--bfloat16={str(rounds).lower()}", *work.arguments()]
        else:
            command = [sys.executable, _HERE / f"{entry.engine}_contender.py",
                       f"--work={work.name}", f"--weights={weights}",
                       f"--threads={entry.threads}", f"--form={entry.form}"]
            if entry.engine in _IN_BFLOAT16:
                command.append(f"--precision={options.precision}")
        count = str(entry.threads)
        environment = dict(
            os.environ, OMP_NUM_THREADS=count, MKL_NUM_THREADS=count,
            OPENBLAS_NUM_THREADS=count, JAX_PLATFORMS="cpu",
            TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
            JAX_COMPILATION_CACHE_DIR=str(folder / "jax"))
        if entry.as_intel:
            environment["LD_PRELOAD"] = str(folder / "mkl_vendor.so")
        if entry.threads == 1:
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, env=environment, text=True,
                bufsize=1)

    def send(self, command):
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Failure(f"{self.entry} ended; see {self.log}") from error

    def answer(self, patience):
        """Returns the answer to the last command, within `patience` seconds."""
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        if not ready:
            raise Failure(f"{self.entry}: no answer in {patience:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise Failure(f"{self.entry} ended; see {self.log}")
        return line.split()

    def ask(self, command, patience=300.0):
        self.send(command)
        return self.answer(patience)

    def seconds_per_step(self, steps):
        return float(self.ask(f"run {steps}")[self._clock]) / steps

    def close(self):
        if self._process.poll() is None:
            try:
                self.send("quit")
                self._process.wait(5)
            except (Failure, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
