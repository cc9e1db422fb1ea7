"""`add_lint_tests()`: the last line of every BUILD file."""

load("//tools/lint:lint_facts.bzl", "lint_facts")
load("//tools/lint:packages.bzl", "PACKAGES")

_FACTS = "lint_facts"
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
    """Adds the package to the lint test of its top-level directory.

    The macro must come last, after the C++ targets to check. The test itself is in
    the package of the top-level directory.

    Args:
      name: name of the test. Use the default.
    """
    package = native.package_name()
    top = package.partition("/")[0]

    # Does not search the root recursively, because it contains Bazel's symbolic
    # links.
    folders = _FOLDERS if package else [""]
    lint_facts(
        name = _FACTS,
        testonly = True,
        srcs = native.glob(
            [folder + pattern for folder in folders for pattern in _PATTERNS] +
            ["BUILD", "WORKSPACE"],
        ),
        targets = [
            target
            for target, rule in native.existing_rules().items()
            if rule["kind"] in _KINDS
        ],
        visibility = ["//{}:__pkg__".format(top)],
    )
    if package == top:
        _lint_test(name, [
            "//{}:{}".format(place, _FACTS)
            for place in [package] + [
                "{}/{}".format(package, below)
                for below in PACKAGES.get(package, [])
            ]
        ])

def _lint_test(name, facts):
    deps = name + "_deps"
    native.genquery(
        name = deps,
        testonly = True,
        expression = "kind(rule, deps(set({})))".format(" ".join(facts)),
        opts = ["--noimplicit_deps"],
        scope = facts,
    )
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["//tools/lint:lint.py"],
        args = ["$(rootpath {})".format(label) for label in [deps] + facts],
        data = [deps, "//tools/lint:checks"] + facts,
    )
