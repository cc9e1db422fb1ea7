"""Compares the results of the frameworks on a workload, then times them."""

import dataclasses
import math
import statistics
import subprocess
import time

import processes
import works

# Maximum relative or absolute difference between the numbers of a step in two
# frameworks.
_TOLERANCE = 1e-4
# Maximum difference in bfloat16: the norm of the differences, relative to the
# norm of the numbers in float32. A bfloat16 has 8 significant bits, so rounding
# has a relative error of at most 2^-8. The error of a product of two operands
# is about twice as large. Errors of terms are independent, so sums do not
# increase the relative error.
_TOLERANCE_IN_BFLOAT16 = 2 * 2**-8
# Maximum fraction of generated ids that differ in bfloat16. Rounding can change
# which of two ids is more probable. All later ids of the text then differ.
# Unrelated models would agree on almost no id.
_OTHER_IDS_IN_BFLOAT16 = 0.25
_PAUSE = 0.05  # seconds until spinning threads go to sleep


@dataclasses.dataclass
class Result:
    """The results of one program."""

    entry: processes.Entry
    seconds: list  # seconds per step in each round; empty if not the best
    kibibytes: int
    first_guess: float  # seconds per step, before the rounds
    allocations: int = -1  # heap allocations of a warm step; only for Regard
    # The rate of reading memory in GB/s, before and after each round. It is
    # measured with as many threads as the workload has. Only for workloads that
    # read all of their weights.
    readable: list = dataclasses.field(default_factory=list)

    def median(self):
        return statistics.median(self.seconds)


def _agree(work, reference, numbers, precision):
    if len(reference) != len(numbers):
        return False
    if precision == "float32":
        return all(
            math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for a, b in zip(reference, numbers))
    if work.kind == works.CONTINUATION:
        others = sum(a != b for a, b in zip(reference, numbers))
        return others <= _OTHER_IDS_IN_BFLOAT16 * len(numbers)
    return (math.dist(reference, numbers)
            <= _TOLERANCE_IN_BFLOAT16 * math.hypot(*reference))


def _guess(contender, seconds):
    """Returns the seconds per step, from a measurement of about `seconds`."""
    contender.seconds_per_step(1)
    once = contender.seconds_per_step(1)
    steps = max(1, min(100000, round(seconds / max(once, 1e-7))))
    return min(once, contender.seconds_per_step(steps))


def _start(entries, work, weights, options, problems):
    """Returns the programs of a framework that answered, with their numbers."""
    contenders = [processes.Contender(entry, work, weights, options)
                  for entry in entries]
    answered = []
    if entries and entries[0].engine in processes.REGARD:
        contenders[0].ask(f"write {weights}")
    deadline = time.monotonic() + options.patience
    for contender in contenders:
        try:
            contender.send("check")
            patience = max(1.0, deadline - time.monotonic())
            answered.append((contender,
                             [float(n) for n in contender.answer(patience)]))
        except processes.Failure as failure:
            problems.append(f"{work.name}: {failure}")
            contender.close()
    return answered


def _first_results(answered, reference, work, options, problems):
    """Returns pairs of program and Result that agree with `reference`."""
    pairs = []
    for contender, numbers in answered:
        precision = ("float32" if contender.entry.engine == "regard_float32"
                     else options.precision)
        if not _agree(work, reference, numbers, precision):
            problems.append(f"{work.name}: {contender.entry} computes "
                            f"{numbers}, Regard {reference}")
            contender.close()
            continue
        time.sleep(_PAUSE)
        guess = _guess(contender, options.seconds / 2)
        memory = int(contender.ask("memory")[0])
        pairs.append((contender, Result(contender.entry, [], memory, guess)))
        print(f"  {contender.entry}: about {guess * 1e3:.4g} ms", flush=True)
    return pairs


def measure(work, options, problems):
    """Returns a list of Results.

    Each round times Regard, the best form of each framework, and the best
    program of each form that has a target. In bfloat16, each round also times
    Regard in float32.
    """
    weights = options.folder / f"{work.name}.safetensors"
    compiled = (options.compile == "all"
                or work.name in options.compile.split(","))
    everyone = processes.entries(work, compiled, options.busy,
                                 options.precision)
    chosen, results = [], []
    reference = None
    print(work.name, flush=True)
    try:
        for engine in processes.engines(work, options.precision):
            answered = _start([e for e in everyone if e.engine == engine],
                              work, weights, options, problems)
            if reference is None:
                reference = answered[0][1]
            pairs = _first_results(answered, reference, work, options, problems)
            results += [result for _, result in pairs]
            pairs.sort(key=lambda pair: pair[1].first_guess)
            kept = pairs if engine in processes.REGARD else pairs[:1]
            for form, _ in work.form_targets if engine == "torch" else ():
                of_form = [pair for pair in pairs if pair[1].entry.form == form]
                kept += [pair for pair in of_form[:1] if pair not in kept]
            chosen += kept
            # Closes programs that are no longer timed, to free their memory.
            for pair in pairs:
                if pair not in kept:
                    pair[0].close()
        # In bfloat16, the frameworks do not read the same number of bytes.
        if work.gigabytes() and options.precision == "float32":
            with _Reader(options.read_peak) as reader:
                _take_turns(chosen, options, reader)
        else:
            _take_turns(chosen, options)
    finally:
        for contender, _ in chosen:
            contender.close()
    return results


class _Reader:
    """Measures the bandwidth of reading memory by number of threads."""

    def __init__(self, program):
        # pylint: disable=consider-using-with
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def gigabytes(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        one, two = self._process.stdout.readline().split()
        return {1: float(one), 2: float(two)}


def _take_turns(pairs, options, reader=None):
    for _ in range(options.rounds):
        for contender, result in pairs:
            steps = max(1, round(options.seconds / result.first_guess))
            time.sleep(_PAUSE)
            before = reader and reader.gigabytes()
            result.seconds.append(contender.seconds_per_step(steps))
            if reader:
                threads = result.entry.threads
                result.readable.append(max(before[threads],
                                           reader.gigabytes()[threads]))
    for contender, result in pairs:
        result.kibibytes = int(contender.ask("memory")[0])
        if result.entry.engine in processes.REGARD:
            result.allocations = int(contender.ask("allocations")[0])


def kernel(options):
    """Returns the name of Regard's implementation of bfloat16 products."""
    program = processes.Contender(processes.Entry("regard", "", 1),
                                  works.by_name("operation_overhead"), "",
                                  options)
    try:
        return " ".join(program.ask("kernel"))
    finally:
        program.close()


def growth(base, grown, options):
    """Returns the exponent of Regard's time if one size doubles: (median, min,
    max)."""
    entry = processes.Entry("regard", "", 1 if options.busy else 2)
    pair = [processes.Contender(entry, work, "", options)
            for work in (base, grown)]
    try:
        guesses = [_guess(contender, options.seconds / 2)
                   for contender in pair]
        exponents = []
        for _ in range(options.rounds):
            times = [contender.seconds_per_step(
                max(1, round(options.seconds / guess)))
                     for contender, guess in zip(pair, guesses)]
            exponents.append(math.log2(times[1] / times[0]))
        return statistics.median(exponents), min(exponents), max(exponents)
    finally:
        for contender in pair:
            contender.close()
