#!/bin/bash
# Validates the configs of a grid's cells, all of them before any is trained.
#
# Usage: check_cells OUTPUT LABEL CELLS TRAINER [ARGUMENT...]
#
# CELLS has a line for each cell: its name, then its overrides, separated by
# tabs. What is wrong is printed under the name of the cell.

set -euo pipefail

output="$1"
label="$2"
cells="$3"
shift 3

log="$(mktemp)"
trap 'rm -f "${log}"' EXIT

wrong=0
while IFS=$'\t' read -r -a cell; do
  arguments=()
  for override in "${cell[@]:1}"; do
    arguments+=(--set "${override}")
  done
  if ! "$@" --check "${arguments[@]}" >"${log}" 2>&1; then
    wrong=$((wrong + 1))
    printf '%s: cell %s:\n' "${label}" "${cell[0]}" >&2
    cat "${log}" >&2
  fi
done <"${cells}"

if ((wrong > 0)); then
  printf '%s: %s of its cells cannot be trained\n' "${label}" "${wrong}" >&2
  exit 1
fi
echo ok >"${output}"
