"""Checks that dependencies between the layers only point downwards."""

# Layers, lowest first. A package may only use its own layer and lower layers.
_LAYERS = ("third_party", "files", "options", "autodiff", "nn", "optimization",
           "evaluation", "data", "attention", "seq2seq", "language", "vision",
           "pretrained", "experiments")
# Directories above all layers. Only configs and docs may use tools.
_LEAVES = ("tools", "configs", "docs")
_ORDER = _LAYERS + _LEAVES
# Subdirectories of a directory, lowest first. A subdirectory may use lower
# subdirectories, and the package of the directory itself. This package may use
# all subdirectories.
_ROOMS = {
    "files": ("tensorboard",),
    "autodiff": ("kernels", "ops", "recurrent"),
    "nn": ("layers",),
    "optimization": ("ranks", "optimizers", "schedules", "interventions"),
    "data": ("text", "images", "phrasebook", "pairs"),
    "attention": ("kernels", "position_encodings", "normalizers", "mixers",
                  "score_maps", "selections", "head_outputs", "formula",
                  "scoring", "checks", "transformer", "inspection"),
    "seq2seq": ("metrics", "decoding", "recurrent"),
    "experiments": ("run", "report", "tasks", "ablation", "comparison",
                    "training", "sweep"),
    "experiments/tasks": ("image_classification", "captions", "masked_words",
                          "regression", "text", "text_classification",
                          "text_embedding", "token_classification",
                          "translation"),
}


def _layer(package):
    return package.split("/")[0]


def check(package, labels):
    """Yields each dependency of a package on a higher layer.

    Labels of other repositories begin with "@" and are below everything.
    """
    layer = _layer(package)
    if layer not in _ORDER:
        yield (f"{package}: no layer is named {layer}; the layers are "
               f"{', '.join(_ORDER)}")
        return
    for label in labels:
        if not label.startswith("//"):
            continue
        other = _layer(label[len("//"):].partition(":")[0])
        if other not in _ORDER or _ORDER.index(other) > _ORDER.index(layer):
            yield f"{package}: depends on {label}, which is not below {layer}"


def _split(package):
    room, _, name = package.rpartition("/")
    return room, name


def check_rooms(facts):
    """Yields each direct dependency on a later subdirectory."""
    room, name = _split(facts["package"])
    if room not in _ROOMS or name == "testing":
        return
    order = _ROOMS[room]
    if name not in order:
        yield (f"{facts['package']}: must be one of the directories of {room}: "
               f"{', '.join(order)}")
        return
    for target in facts["targets"]:
        if target["testonly"] or target["kind"] == "cc_test":
            continue
        for dep in target["deps"]:
            package = dep["label"][len("//"):].partition(":")[0]
            other_room, other = _split(package)
            if other_room == room and order.index(other) > order.index(name):
                yield (f"{target['label']}: depends on {dep['label']}, which is "
                       f"not below {name} in {room}")
