"""Training programs, experiments and ablations as build targets.

`docs/ablations.md` shows how they are used.
"""

load("//experiments/ablation:ablation.bzl", _ablation = "ablation")
load("//experiments/ablation:claims.bzl", _claims_report = "claims_report")
load("//experiments/ablation:experiment.bzl", _experiment = "experiment")
load(
    "//experiments/ablation:experiment_test.bzl",
    _experiment_test = "experiment_test",
)
load(
    "//experiments/ablation:regard_binary.bzl",
    _plugin_binary = "plugin_binary",
    _program_link = "program_link",
    _regard_binary = "regard_binary",
)

ablation = _ablation
claims_report = _claims_report
experiment = _experiment
experiment_test = _experiment_test
plugin_binary = _plugin_binary
program_link = _program_link
regard_binary = _regard_binary
