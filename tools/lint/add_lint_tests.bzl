"""`add_lint_tests()`: the last line of every BUILD file."""

load("//tools/lint:lint_facts.bzl", "lint_facts")

_FOLDERS = ["", "**/"]
_PATTERNS = [
    "*.bzl",
    "*.BUILD",
    "*.cc",
    "*.h",
    "*.proto",
    "*.textproto",
]
_KINDS = ["cc_binary", "cc_library", "cc_test"]

def add_lint_tests(name = "lint_test"):
    """Adds one test, which checks all of the package's files.

    It must come last: it checks the C++ targets declared before it.

    Args:
      name: of the test; leave it at its default.
    """
    facts = name + "_facts"
    deps = name + "_deps"
    package = native.package_name()

    # The root holds Bazel's own symbolic links: it is not searched in depth.
    folders = _FOLDERS if package else [""]
    sources = native.glob(
        [folder + pattern for folder in folders for pattern in _PATTERNS] +
        ["BUILD", "WORKSPACE"],
    )
    targets = [
        target
        for target, rule in native.existing_rules().items()
        if rule["kind"] in _KINDS
    ]
    lint_facts(
        name = facts,
        testonly = True,
        srcs = sources,
        targets = targets,
    )
    if targets:
        labels = ["//{}:{}".format(package, target) for target in targets]
        native.genquery(
            name = deps,
            testonly = True,
            expression = "kind(rule, deps(set({})))".format(" ".join(labels)),
            opts = ["--noimplicit_deps"],
            scope = labels,
        )
    reports = [facts] + ([deps] if targets else [])
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["//tools/lint:lint.py"],
        args = ["$(rootpath {})".format(report) for report in reports],
        data = reports + sources + ["//tools/lint:checks"],
    )
