"""Checks the contenders of a work against one another, then times them."""

import dataclasses
import math
import statistics
import time

import processes

# How far numbers of one step may lie apart, relative or absolute.
_TOLERANCE = 1e-4
_PAUSE = 0.05  # seconds, in which threads that spin go to sleep


@dataclasses.dataclass
class Result:
    """One contender's figures."""

    entry: processes.Entry
    seconds: list  # per step, one a round; empty where it was not the best
    kibibytes: int
    first_guess: float  # seconds per step, before the rounds
    allocations: int = -1  # heap allocations of a warm step; Regard's alone

    def median(self):
        return statistics.median(self.seconds)


def _agree(mine, theirs):
    return len(mine) == len(theirs) and all(
        math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        for a, b in zip(mine, theirs))


def _guess(contender, seconds):
    """Seconds per step, from about that long."""
    contender.seconds_per_step(1)
    once = contender.seconds_per_step(1)
    steps = max(1, min(100000, round(seconds / max(once, 1e-7))))
    return min(once, contender.seconds_per_step(steps))


def _start_all(work, options, weights, problems):
    """Contenders that answered, and agree with Regard, by entry."""
    everyone = processes.entries(work, options.compiled)
    started, agreeing = {}, {}
    reference = None
    for entry in everyone:
        if entry.engine != "regard" and not started:
            break
        started[entry] = processes.Contender(
            entry, work, weights, options.folder, options.regard_step)
        if entry.engine == "regard" and not weights.exists():
            started[entry].ask(f"write {weights}")
    for entry, contender in started.items():
        contender.send("check")
    for entry, contender in started.items():
        try:
            numbers = [float(n) for n in contender.answer(options.patience)]
        except processes.Failure as failure:
            problems.append(f"{work.name}: {failure}")
            contender.close()
            continue
        reference = reference or numbers
        if _agree(reference, numbers):
            agreeing[entry] = contender
        else:
            problems.append(f"{work.name}: {entry} computes {numbers}, "
                            f"{everyone[0]} {reference}")
            contender.close()
    print(f"{work.name}: {len(agreeing)} of {len(everyone)} contenders agree "
          f"with {reference}", flush=True)
    return agreeing


def measure(work, options, problems):
    """A list of Results; those of an engine's best have rounds."""
    weights = options.folder / f"{work.name}.safetensors"
    weights.unlink(missing_ok=True)
    contenders = _start_all(work, options, weights, problems)
    try:
        return _time(contenders, options)
    finally:
        for contender in contenders.values():
            contender.close()


def _time(contenders, options):
    results = []
    for entry, contender in contenders.items():
        time.sleep(_PAUSE)
        guess = _guess(contender, options.seconds / 2)
        results.append(Result(entry, [], int(contender.ask("memory")[0]),
                              guess))
        print(f"  {entry}: about {guess * 1e3:.4g} ms", flush=True)
    chosen = []
    for engine in ("regard", "torch", "jax"):
        ours = [r for r in results if r.entry.engine == engine]
        if engine == "regard":
            chosen += ours
        elif ours:
            chosen.append(min(ours, key=lambda result: result.first_guess))
    # What does not contend any more gives its memory back.
    for entry in set(contenders) - {result.entry for result in chosen}:
        contenders.pop(entry).close()
    for _ in range(options.rounds):
        for result in chosen:
            steps = max(1, round(options.seconds / result.first_guess))
            time.sleep(_PAUSE)
            result.seconds.append(
                contenders[result.entry].seconds_per_step(steps))
    for result in chosen:
        contender = contenders[result.entry]
        result.kibibytes = int(contender.ask("memory")[0])
        if result.entry.engine == "regard":
            result.allocations = int(contender.ask("allocations")[0])
    return results


def growth(base, grown, options):
    """Exponent of Regard's time as one extent doubles: (median, min, max)."""
    entry = processes.Entry("regard", "", 2)
    pair = [processes.Contender(entry, work, "", options.folder,
                                options.regard_step) for work in (base, grown)]
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
