#!/bin/bash
# The computing code must not link reports, inspection pages or TensorBoard
# events (docs/decisions/0021-what-computes-has-a-digest.md).

set -euo pipefail

# Checks that the query has found the dependencies.
grep -qx //experiments/training:training "$1"
grep -qx //experiments/report:run_results "$1"
allowed='(progress|run_results|reported_run|terminal_text|traced_maps)'
pages="$(grep -E '^//(experiments/report|files/tensorboard):' "$1" |
  grep -vxE "//experiments/report:${allowed}" || true)"
if [[ -n "${pages}" ]]; then
  printf 'what computes depends on:\n%s\n' "${pages}"
  exit 1
fi
