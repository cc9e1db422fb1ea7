"""Makes the page about metrics from the declarations of tasks and training."""

import json
import os
import re
import subprocess
import tempfile

import markdown

_METRIC = re.compile(r"([a-z0-9_+]+) \((.*?)\): (.*?)(?:; (lower|higher) is "
                     r"better)?(?:, logarithmic)?")
_SECOND = ", on held-out examples unlike the training data"


def _tasks(plugins):
    """Returns the description and metrics of each task, by its message."""
    tasks = {}
    for block in plugins.split("\n\n"):
        title, *lines = block.strip("\n").split("\n")
        if len(lines) < 2:
            continue  # the block is about a data source
        message, description = title.removeprefix("## ").split(": ", 1)
        tasks[message] = (description, [
            found.groups() for line in lines
            if (found := _METRIC.fullmatch(line))])
    return tasks


def _rows(metrics):
    names = {name for name, *_ in metrics}
    rows = []
    for name, unit, meaning, better in metrics:
        if name.endswith("_apart") and meaning.endswith(_SECOND):
            continue
        also = f", `{name}_apart`" if f"{name}_apart" in names else ""
        rows.append([f"`{name}`{also}", markdown.escaped(meaning), unit,
                     better or ""])
    return rows


def _training_metrics(regard, config):
    """Returns the metrics in run.json after a training without steps."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run(
            [regard, "train", f"--config={config}", f"--run={run}",
             "--set=training.epochs=0"], check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=folder)
        with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
            return json.load(file)["metrics"]


def text(protos, plugins, regard, config, notes):
    heads = ["metric", "meaning", "unit", "better"]
    members = {field.type_name: field.name
               for field in protos.messages["regard.ModelConfig"].fields
               if field.oneof}
    lines = [notes.pop("Introduction"), "", "## Training", "",
             "Training reports these metrics on `train/` only.", ""]
    tasks = _tasks(plugins)
    of_tasks = {name for _, metrics in tasks.values() for name, *_ in metrics}
    lines += markdown.table(heads, [
        [f"`{metric['name']}`", markdown.escaped(metric["meaning"]),
         metric["unit"], metric["better"].replace("neither", "")]
        for metric in _training_metrics(regard, config)
        if metric["name"] not in of_tasks])
    shown = {}
    for message, (description, metrics) in tasks.items():
        shown.setdefault(tuple(metrics), []).append((message, description))
    for metrics, models in sorted(
            shown.items(), key=lambda item: members[item[1][0][0]]):
        names = [members[message] for message, _ in models]
        lines += ["## " + " and ".join(names), ""]
        lines += [
            "; ".join(f"[{members[message]}](config.md#"
                      f"{message.split('.')[-1].lower()}): {description}"
                      for message, description in models) + ".", ""]
        lines += markdown.table(heads, _rows(metrics))
        if any(name.endswith("_apart") for name, *_ in metrics):
            lines += [notes.pop("_apart"), ""]
        if note := notes.pop(names[0], ""):
            lines += [note, ""]
    statistics = protos.enums["regard.SiteStatistic.Statistic"].values
    lines += [
        "## probe", "",
        "A [probe](config.md#sitestatistic) reports a statistic of the values "
        "at a hook point.", ""]
    lines += markdown.table(
        ["metric", "meaning"],
        [[f"`probe/SITE/{name.lower()}`",
          " ".join(markdown.paragraphs(about))] for name, about in statistics])
    for heading, note in notes.items():
        lines += [f"## {heading}", "", note, ""]
    return "\n".join(lines).rstrip() + "\n"
