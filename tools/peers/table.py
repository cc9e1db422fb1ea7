"""The results of the benchmark as Markdown tables."""

import statistics

import processes
import works


def _peers(measured):
    """Returns the columns. Regard in float32 only has one if it was run."""
    found = {r.entry.engine for _, results in measured for r in results}
    return [engine for engine in processes.NAMES if engine != "regard"
            and (engine != "regard_float32" or engine in found)]


def best(results, engine, form=None):
    """Returns the framework's Result with the smallest median, or None."""
    timed = [r for r in results if r.entry.engine == engine and r.seconds
             and form in (None, r.entry.form)]
    return min(timed, key=lambda result: result.median(), default=None)


def ratios(slow, fast):
    """Returns ratios by round, because a slow moment affects both times."""
    pairs = sorted(a / b for a, b in zip(slow.seconds, fast.seconds))
    return statistics.median(pairs), pairs[0], pairs[-1]


def _spread(numbers, scale, digits=3):
    middle = statistics.median(numbers) * scale
    return (f"{middle:.{digits}g} ({min(numbers) * scale:.{digits}g} - "
            f"{max(numbers) * scale:.{digits}g})")


def _work_rows(work, results, peak):
    for result in results:
        if not result.seconds:
            continue
        seconds = result.median()
        rate = work.gigaflops() / seconds
        share = 100 * rate / peak[result.entry.threads]
        arithmetic = "- | -" if rate == 0 else f"{rate:.0f} | {share:.0f}"
        yield (f"| {work.name} | {result.entry} | "
               f"{_spread(result.seconds, 1e3)} | "
               f"{work.tokens() / seconds:,.0f} | {arithmetic} | "
               f"{result.kibibytes / 1024:.0f} |")


def times(measured, peak):
    yield ("| work | contender | ms per step: median (min - max) | tokens/s | "
           "GFLOP/s | % of peak | peak MiB |")
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for work, results in measured:
        yield from _work_rows(work, results, peak)


def reading(measured):
    """Yields the bandwidth of workloads whose passes read all weights.

    The fraction refers to the faster of the measurements before and after a
    round.
    """
    yield ("| work | contender | GB/s of weights | GB/s that can be read | "
           "% of it |")
    yield "| --- | --- | --- | --- | --- |"
    for work, results in measured:
        for result in results:
            if not result.readable:
                continue
            rates = [work.gigabytes() / seconds for seconds in result.seconds]
            shares = [rate / readable
                      for rate, readable in zip(rates, result.readable)]
            yield (f"| {work.name} | {result.entry} | {_spread(rates, 1)} | "
                   f"{_spread(result.readable, 1)} | {_spread(shares, 100)} |")


def _ratio_cell(results, engine, target, form=None):
    peer, ours = best(results, engine, form), best(results, "regard")
    if peer is None or ours is None:
        return "-"
    middle, low, high = ratios(peer, ours)
    cell = f"{middle:.2f} ({low:.2f} - {high:.2f})"
    if target:
        cell += f", wanted {target:g}: " + (
            "met" if middle >= target else "**missed**")
    return cell


def _heading(peers):
    yield "| work | " + " | ".join(
        f"{processes.NAMES[peer]} / Regard" for peer in peers) + " |"
    yield "| --- |" + " --- |" * len(peers)


def comparison(measured):
    peers = _peers(measured)
    yield from _heading(peers)
    for work, results in measured:
        cells = [_ratio_cell(results, peer,
                             getattr(work, f"{peer}_target", 0))
                 for peer in peers]
        yield f"| {work.name} | {' | '.join(cells)} |"
        for form, target in work.form_targets:
            cell = _ratio_cell(results, "torch", target, form)
            yield (f"| {work.name}, {form.replace('_', ' ')} | {cell} |"
                   + " - |" * (len(peers) - 1))


def forms(measured):
    yield "| work | contender | ms per step, about |"
    yield "| --- | --- | --- |"
    for work, results in measured:
        for result in results:
            yield (f"| {work.name} | {result.entry} | "
                   f"{result.first_guess * 1e3:.4g} |")


def own(measured):
    """Yields results of Regard: threads, allocations, ns per operation."""
    yield "| work | 1 -> 2 threads | heap allocations of a warm step |"
    yield "| --- | --- | --- |"
    for work, results in measured:
        ours = {r.entry.threads: r for r in results
                if r.entry.engine == "regard" and r.seconds}
        if not ours:
            continue
        scaling = "-"
        if len(ours) == 2:
            middle, low, high = ratios(ours[1], ours[2])
            scaling = f"{middle:.2f} ({low:.2f} - {high:.2f})"
        counts = "/".join(str(r.allocations) for r in ours.values())
        yield f"| {work.name} | {scaling} | {counts} |"
    for work, results in measured:
        if work.kind != works.OVERHEAD:
            continue
        yield ""
        for result in results:
            if result.seconds:
                yield (f"* {result.entry}: "
                       f"{_spread(result.seconds, 1e9 / work.batch)} ns per "
                       "operation on 8 numbers, forward and backward")


def memory(measured):
    peers = _peers(measured)
    yield from _heading(peers)
    for work, results in measured:
        ours = best(results, "regard")
        cells = []
        for engine in peers:
            peer = best(results, engine)
            cells.append(f"{peer.kibibytes / ours.kibibytes:.1f}"
                         if peer and ours else "-")
        yield f"| {work.name} | {' | '.join(cells)} |"
