"""What //tools:export writes, for the checks of folders beside it."""

import subprocess


def export(folder, copy):
    """Writes the model of a folder as another one."""
    subprocess.run(["bazel-bin/tools/export", f"--run={folder}", str(copy)],
                   check=True, stdout=subprocess.DEVNULL)
