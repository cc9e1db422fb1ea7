"""Exports of models by //tools:export, for the checks in this directory."""

import subprocess


def export(folder, copy):
    """Exports the model of a folder to another folder."""
    subprocess.run(["bazel-bin/tools/export", f"--run={folder}", str(copy)],
                   check=True, stdout=subprocess.DEVNULL)
