#!/usr/bin/env python3
"""Checks that only tasks/ uses tasks, or names their configs or data.

The arguments are the labels on which the other directories depend,
experiment.proto, data.proto, the protos of the data sources, and the sources of
the directories.
"""

import pathlib
import re
import sys

_ONEOF = re.compile(r"oneof (?:data_source|model) \{(.*?)\n  \}", re.DOTALL)
_MEMBER = re.compile(r"^\s*(\w+) (\w+) = \d+;", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"//.*")
# Members whose names are also common names of accessors. The test searches only
# for their has_, mutable_ and clear_ accessors.
_COMMON = {"text"}
# Parts of data/ that only tasks may use.
_DATA = "(?:phrasebook|corpus|grammar|nadaraya_watson|pairs|sequences|table)"


def tasks_among(labels):
    """Returns the libraries of tasks and their data, without protos."""
    return [label for label in labels
            if re.match(rf"//(experiments/tasks/[^:]|data[/:]{_DATA})", label)
            and not label.endswith("_proto")]


def names_of(choices, protos):
    """Returns the C++ types and the accessors of task options."""
    types = {name for text in protos for name in _MESSAGE.findall(text)}
    members = set()
    for body in _ONEOF.findall(choices):
        for message, member in _MEMBER.findall(body):
            if member != "outside":
                types.add(message)
                members.add(member)
    return types, members


def mentions(source, types, members):
    """Returns the lines of code that name one of the types or members."""
    wanted = re.compile(
        rf"\b(?:{'|'.join(sorted(types))})\b"
        rf"|(?:\.|->)(?:has_|mutable_|clear_)(?:{'|'.join(sorted(members))})\("
        rf"|(?:\.|->)(?:{'|'.join(sorted(members - _COMMON))})\("
        rf"|\bexperiments/tasks/\w+/|\bdata/{_DATA}")
    return [f"{number}: {line.strip()}"
            for number, line in enumerate(source.splitlines(), 1)
            if wanted.search(_COMMENT.sub("", line))]


def missing_protos(data, paths):
    """Returns the protos in data/ that data.proto imports but `paths` lacks."""
    imported = re.findall(r'^import "(data/[^"]+)";', data, re.MULTILINE)
    return [path for path in imported if path not in paths]


def check_itself(types, members):
    """Checks that the search finds known names."""
    assert {"PhrasebookConfig", "RecurrentDecoderConfig"} <= types, types
    assert {"phrasebook", "decoder", "nadaraya_watson"} <= members, members
    found = mentions(
        "// config.decoder()\nif (model.has_decoder()) return;\n"
        "const PairsConfig pairs;\nOutsideData data;\n"
        '#include "data/corpus.h"\n', types, members)
    assert [line.split(":")[0] for line in found] == ["2", "3", "5"], found
    assert tasks_among(["//experiments/tasks:task", "//data/phrasebook:x",
                        "//experiments/tasks/regression:regression",
                        "//experiments/tasks/regression:regression_proto"]) == [
                            "//data/phrasebook:x",
                            "//experiments/tasks/regression:regression"]


def main(paths):
    texts = {path: pathlib.Path(path).read_text(encoding="utf-8")
             for path in paths}
    deps = texts.pop(paths[0])
    protos = [texts.pop(path) for path in paths if path.endswith(".proto")]
    types, members = names_of(protos[0] + protos[1], protos[2:])
    check_itself(types, members)
    problems = [f"{path} is not among the arguments"
                for path in missing_protos(protos[1], paths)]
    problems += [f"needs {label}" for label in tasks_among(deps.split())]
    for path, source in sorted(texts.items()):
        problems += [f"{path}:{line}"
                     for line in mentions(source, types, members)]
    print("\n".join(problems))
    assert "//experiments/training:training" in deps and len(texts) > 50, texts
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
