"""Makes the page about mechanisms from their registries and protos."""

import json
import re
import subprocess

import markdown

# The sections of `regard scores --json`: key, title, messages whose fields are
# the members of the section, the way to select a member in a config, and
# picture.
_SECTIONS = (
    ("scores", "Scores", ["Attention"], "attention { NAME { } }",
     "maps_scores"),
    ("normalizers", "Normalizers", ["NormalizerConfig"],
     "attention { normalizer { NAME { } } }", "maps_normalizers"),
    ("position_encodings", "Position encodings", ["PositionEncodingConfig"],
     "attention { position_encoding { NAME { } } }", ""),
    ("score_maps", "Score maps", ["ScoreMapConfig"],
     "attention { map_before { NAME { } } }", ""),
    ("key_selections", "Key selections", ["KeySelectionConfig"],
     "attention { selection { NAME { } } }", ""),
    ("parts", "Other parts of attention", ["Attention", "MultiHead"], "", ""),
    ("head_outputs", "Head outputs", ["HeadOutputConfig"],
     "head_output { NAME { } }", ""),
    ("mixers", "State mixers", ["MixerConfig"],
     "transformer { mixer { NAME { } } }", ""),
)


def _options(options):
    return ", ".join(
        f"`{option['name']}`" +
        ("" if option["default"] == "absent" else f" ({option['default']})")
        for option in options)


def _entry(name, entry, message, notes):
    lines = [f"### {name}", "", f"    {entry['formula']}", ""]
    for part in markdown.paragraphs(message.comment):
        lines += [part, ""]
    if note := notes.pop(name, ""):
        lines += [note, ""]
    facts = [f"Options: [{message.name}](config.md#{message.name.lower()})"]
    if entry["options"]:
        facts[0] += f": {_options(entry['options'])}"
    facts[0] += "."
    parameters = entry.get("parameters")
    if isinstance(parameters, int):
        facts.append(f"Parameters: {parameters:,}.")
    if entry.get("position_aware"):
        facts.append("Depends on positions.")
    if entry.get("uses_history"):
        facts.append("Reads earlier weights, so it requires a recurrent "
                     "decoder.")
    return lines + [" ".join(facts), ""]


def _heading(title, notes):
    lines = [f"## {title}", ""]
    if note := notes.pop(title, ""):
        lines += [note, ""]
    return lines


def _picture(name, pictures, notes):
    """Returns the lines that show a picture of draw_maps.py."""
    about = notes.pop(name)
    if f"{name}.svg" not in pictures:
        return []
    return [about, "", f"![Attention maps of trained models]({name}.svg)", ""]


def text(protos, regard, pictures, notes):
    listed = json.loads(subprocess.run(
        [regard, "scores", "--json"], check=True,
        stdout=subprocess.PIPE).stdout)
    lines = [notes.pop("Introduction"), ""]
    lines += _heading("At a glance", notes)
    for key, title, configs, place, picture in _SECTIONS:
        if key == "position_encodings":
            maps = _picture("maps_self_attention", pictures, notes)
            lines += ["## Maps of self-attention", "", *maps] if maps else []
        lines += _heading(title, notes)
        if picture:
            lines += _picture(picture, pictures, notes)
        if place:
            lines += [f"In a config: `{place}`.", ""]
        types = {field.name: field.type_name for name in configs
                 for field in protos.messages[f"regard.{name}"].fields}
        for entry in listed[key]:
            name = entry.get("name")
            if name is None:  # `attention { sink {} }`, or `latent {}`
                name = re.search(r"([a-z_]+) \{\}", entry["place"])[1]
            if name != "none":
                message = protos.messages[types[name]]
                lines += _entry(name, entry, message, notes)
    if notes:
        raise ValueError(f"notes/mechanisms.txt: no mechanism {list(notes)}")
    return "\n".join(lines).rstrip() + "\n"
