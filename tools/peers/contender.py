"""Runs steps of a workload on command, as one process of the benchmark.

Commands are read from standard input, one per line. Answers are written to
standard output:

    check        -> numbers that must agree between frameworks
    run COUNT    -> seconds of COUNT steps, and their processor time
    memory       -> maximum resident memory so far, in KiB
    quit
"""

import argparse
import os
import sys
import time


def parse_arguments(path=False):
    """Parses the arguments. If `path`, includes --path, a file to write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--weights", default="")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--form", required=True)
    parser.add_argument("--precision", default="float32",
                        choices=("float32", "bfloat16"))
    if path:
        parser.add_argument("--path", required=True)
    return parser.parse_args()


def pin(threads):
    """Restricts this process to as many cores as it has threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _peak_kibibytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def serve(step, check):
    """Answers commands. `step(count)` runs steps; `check()` returns numbers."""
    # Redirects standard output to standard error, because libraries print to it
    # and the pipe must contain only answers.
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
