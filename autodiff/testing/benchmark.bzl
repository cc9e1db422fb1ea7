"""`benchmark()`: a program of benchmarks, and a test that it still works."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_test.bzl", "cc_test")

def benchmark(name, deps):
    """The program `NAME` and `NAME_smoke_test`, which runs it for a moment.

    Args:
      name: the program's; its source is `NAME.cc`.
      deps: what the source needs besides Google Benchmark.
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
