"""A process that runs steps when it is told to, and waits in between.

Commands arrive on standard input, one a line; answers leave on standard output:

    check        -> numbers that must agree among contenders
    run COUNT    -> seconds that COUNT steps took, and of processor time
    memory       -> most resident memory so far, in KiB
    quit
"""

import argparse
import os
import sys
import time


def parse_arguments(path=False):
    """`path`: of the file that a program writes for a contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--weights", default="")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--form", required=True)
    if path:
        parser.add_argument("--path", required=True)
    return parser.parse_args()


def pin(threads):
    """Keeps this process to as many cores as it has threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _peak_kibibytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def serve(step, check):
    """Answers commands. `step(count)` runs steps; `check()` gives numbers."""
    # Libraries may print; answers go to the pipe alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        command = line.split()
        if command[0] == "check":
            answer = " ".join(f"{number:.9g}" for number in check())
        elif command[0] == "run":
            begin, begin_busy = time.perf_counter(), time.process_time()
            step(int(command[1]))
            answer = (f"{time.perf_counter() - begin:.9f} "
                      f"{time.process_time() - begin_busy:.9f}")
        elif command[0] == "memory":
            answer = str(_peak_kibibytes())
        else:
            return
        print(answer, file=answers, flush=True)
