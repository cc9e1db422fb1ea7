#!/usr/bin/env python3
"""Reads a run's event files with TensorBoard's own reader, and checks them.

python3 -m venv venv && venv/bin/pip install tensorboard
venv/bin/python files/tensorboard/read_events.py runs/NAME

Prints every tag with its steps, the settings, and how the run ended. Exits with
1 if something that a run should have is missing or cannot be read.
"""

import argparse
import os
import sys

from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.util import tensor_util

_PNG = b"\x89PNG\r\n\x1a\n"


def tags_of(accumulator, plugin):
    """Returns the content by tag. Empty for a plugin that the files lack."""
    if plugin not in accumulator.ActivePlugins():
        return {}
    return accumulator.PluginTagToContent(plugin)


def check_values(plugin, tag, values):
    """Returns the problems of the values of a tag, one sentence each."""
    problems = []
    steps = [step for step, _ in values]
    if steps != sorted(steps):
        problems.append(f"{tag}: steps fall: {steps}")
    for step, value in values:
        if plugin == "scalars" and value.shape != ():
            problems.append(f"{tag}: step {step}: not a scalar")
        if plugin == "histograms":
            if value.ndim != 2 or value.shape[1] != 3:
                problems.append(f"{tag}: step {step}: shape {value.shape}")
            elif (value[1:, 0] != value[:-1, 1]).any() and value[:, 2].sum():
                gap = abs(value[1:, 0] - value[:-1, 1]).max()
                if gap > 1e-9 * abs(value).max():
                    problems.append(f"{tag}: step {step}: a gap of {gap}")
        if plugin == "images" and not bytes(value[2]).startswith(_PNG):
            problems.append(f"{tag}: step {step}: not a PNG image")
    return problems


def print_settings(accumulator):
    """Prints the settings and the end. Returns whether both exist."""
    content = tags_of(accumulator, "hparams")
    start = content.get(hparams.SESSION_START_INFO_TAG)
    end = content.get(hparams.SESSION_END_INFO_TAG)
    if start is None:
        print("hparams: none")
        return False
    info = hparams.parse_session_start_info_plugin_data(start)
    print(f"hparams: group {info.group_name[:12]}..., {len(info.hparams)} settings")
    for name, value in sorted(info.hparams.items()):
        print(f"  {name} = {getattr(value, value.WhichOneof('kind'))}")
    if end is None:
        print("  no end: the run goes on or was interrupted")
        return False
    status = hparams.parse_session_end_info_plugin_data(end).status
    print(f"  ended with status {status} (1: success, 2: failure)")
    return True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("run", help="a run folder")
    folder = os.path.join(parser.parse_args().run, "tensorboard")
    # 0 keeps all values.
    keep_all = {plugin_event_accumulator.TENSORS: 0}
    accumulator = plugin_event_accumulator.EventAccumulator(folder, keep_all, keep_all)
    accumulator.Reload()
    problems = []
    for plugin in ("scalars", "histograms", "images", "text"):
        tags = tags_of(accumulator, plugin)
        print(f"{plugin}: {len(tags)} tags")
        if plugin in ("scalars", "histograms") and not tags:
            problems.append(f"no {plugin}")
        for tag in sorted(tags):
            values = [
                (event.step, tensor_util.make_ndarray(event.tensor_proto))
                for event in accumulator.Tensors(tag)
            ]
            problems += check_values(plugin, tag, values)
            steps = [step for step, _ in values]
            shown = str(steps) if len(steps) < 12 else f"{len(steps)} up to {steps[-1]}"
            last = f" = {values[-1][1]:.6g}" if plugin == "scalars" else ""
            print(f"  {tag}{last}  at steps {shown}")
    if not print_settings(accumulator):
        problems.append("no settings, or no end")
    for problem in problems:
        print(f"PROBLEM: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
