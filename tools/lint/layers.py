"""Checks that dependencies between the layers point downwards only."""

# Lowest first. A package may use its own layer and those before it.
_LAYERS = ("third_party", "files", "autodiff", "nn", "data", "attention",
           "seq2seq", "language", "vision", "pretrained", "experiments")
# Above all layers; configs may use tools, nobody else may.
_LEAVES = ("tools", "configs")
_ORDER = _LAYERS + _LEAVES


def _layer(package):
    return package.split("/")[0]


def check(package, labels):
    """Yields each of the labels, of all that package needs, that is above it.

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
