"""`benchmark()`: a benchmark program, and a smoke test of it."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_test.bzl", "cc_test")

def benchmark(name, deps):
    """Defines the program `NAME` and `NAME_smoke_test`, which runs it briefly.

    Args:
      name: the name of the program, whose source is `NAME.cc`.
      deps: the dependencies of the source other than Google Benchmark.
    """
    deps = deps + ["@com_github_google_benchmark//:benchmark"]
    cc_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc"],
        tags = ["benchmark"],
        deps = deps,
    )
    cc_test(
        name = name + "_smoke_test",
        size = "small",
        srcs = [name + ".cc"],
        args = ["--benchmark_min_time=0.001"],
        deps = deps,
    )
