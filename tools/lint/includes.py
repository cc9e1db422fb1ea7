"""Compares each `#include` with the dependencies that its target declares."""

import pathlib
import re

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# External libraries: a directory or header, and its labels without the
# repository. One of these labels must be in the deps. The longest match
# applies. Without labels, Abseil's convention applies: the header a/b.h is in
# //a:b.
_EXTERNAL = {
    "absl/": None,
    "absl/base/": ["//absl/base:core_headers", "//absl/base:base"],
    "absl/base/call_once.h": ["//absl/base:base"],
    "absl/base/casts.h": ["//absl/base:base"],
    "absl/container/btree_map.h": ["//absl/container:btree"],
    "absl/container/btree_set.h": ["//absl/container:btree"],
    "absl/strings/": ["//absl/strings:strings"],
    "absl/strings/str_format.h": ["//absl/strings:str_format"],
    "absl/synchronization/": ["//absl/synchronization:synchronization"],
    "absl/time/": ["//absl/time:time"],
    "benchmark/": ["//:benchmark", "//:benchmark_main"],
    "Eigen/": ["//:eigen"],
    "gmock/": ["//:gtest", "//:gtest_main"],
    "google/protobuf/": ["//:protobuf"],
    "gtest/": ["//:gtest", "//:gtest_main"],
    "mpi.h": ["//:mpi"],
    "nlohmann/": ["//:json"],
    "openssl/": ["//:crypto"],
    "png.h": ["//:libpng"],
    "turbojpeg.h": ["//:turbojpeg"],
    "unsupported/Eigen/": ["//:eigen"],
    "utf8proc.h": ["//:utf8proc"],
    "zlib.h": ["//:zlib"],
}

# Main programs and allocators are only linked, never included.
_LINKED_ONLY = ("//:gtest_main", "//:benchmark_main")


def _without_repository(label):
    return "//" + label.partition("//")[2]


def _external_labels(header):
    """Returns the labels that may provide the header, or None if it is ours."""
    matches = [prefix for prefix in _EXTERNAL if header.startswith(prefix)]
    if not matches:
        return None
    labels = _EXTERNAL[max(matches, key=len)]
    if labels is None:
        folder, _, name = header.rpartition("/")
        return [f"//{folder}:{name[:-len('.h')]}"]
    return labels


def includes(text):
    """Returns the included headers, and whether each was quoted."""
    return [(path, mark == '"') for mark, path in _INCLUDE.findall(text)]


def check_target(target, read, shared=()):
    """Yields the problems of one target in a package's lint facts.

    read(path) returns the text of a source, or None if it is generated. The
    target need not use the labels in `shared`.
    """
    granted = {}
    for dep in target["deps"]:
        for header in dep["headers"]:
            granted[header] = dep["label"]
    external = {
        _without_repository(dep["label"]): dep["label"]
        for dep in target["deps"]
        if dep["external"]
    }
    used = set()
    generated = False
    for source in target["sources"]:
        text = read(source)
        if text is None:
            generated = True
            continue
        for header, quoted in includes(text):
            wanted = _external_labels(header)
            if header in target["sources"]:
                continue
            if header in granted:
                used.add(granted[header])
            elif wanted is not None:
                found = [external[label] for label in wanted if label in external]
                used.update(found)
                if not found:
                    yield (f"{source}: {target['label']} includes {header} "
                           f"without a dependency on {' or '.join(wanted)}")
            elif quoted:
                yield (f"{source}: {target['label']} includes {header}, "
                       "which none of its direct deps offers")
    if generated or not target["sources"]:
        return
    for dep in target["deps"]:
        offers = dep["headers"] or dep["external"]
        linked = _without_repository(dep["label"]) in _LINKED_ONLY
        if (offers and not linked and dep["label"] not in used
                and dep["label"] not in shared):
            yield (f"{target['label']}: nothing is included from the "
                   f"dependency {dep['label']}")


def check(facts):
    """Yields the problems of the targets of a package.

    A test may have unused dependencies if a library of its package has them,
    because cc_pair() and directory_test() add them.
    """

    def read(path):
        file = pathlib.Path(path)
        return file.read_text(encoding="utf-8") if file.exists() else None

    libraries = [target for target in facts["targets"]
                 if target["kind"] == "cc_library"]
    shared = {target["label"] for target in libraries} | {
        dep["label"] for target in libraries for dep in target["deps"]}
    for target in facts["targets"]:
        yield from check_target(
            target, read, shared if target["kind"] == "cc_test" else ())
