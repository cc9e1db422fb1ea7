#!/bin/bash
# Trains in a scratch folder and copies the results to where a build action must
# leave them.
#
# Usage: train_as_action OUTPUTS LABEL fail|keep FILES TRAINER [ARGUMENT...]
#
# FILES, separated by spaces, are left beside those that every run leaves.
#
# With `keep`, a training whose loss diverged (exit code 3) is a result, since it
# would diverge again: status.json says so, failure.txt why, and the other files
# may be empty. Any other end, such as a wrong config, a full disk or a signal,
# fails the action, and nothing is cached.

set -euo pipefail

outputs="$1"
label="$2"
on_failure="$3"
read -r -a files <<<"$4"
shift 4

# Among the outputs: what a run that is killed leaves goes with its sandbox.
scratch="$(mktemp -d "$(realpath "${outputs}")/scratch.XXXXXX")"
trap 'rm -rf "${scratch}"' EXIT
run="${scratch}/run"

code=0
"$@" --run="${run}" >"${scratch}/log" 2>&1 || code=$?

if [[ "${code}" != 0 ]]; then
  printf '%s: training ended with exit code %s:\n' "${label}" "${code}" >&2
  tail -n 40 "${scratch}/log" >&2
  if [[ "${code}" != 3 || "${on_failure}" != keep ]]; then
    exit "${code}"
  fi
fi

for file in attention.json config.textproto environment.json examples.jsonl \
  metrics.jsonl report.html resolved.textproto run.json status.json \
  "${files[@]}"; do
  if [[ -e "${run}/${file}" ]]; then
    cp "${run}/${file}" "${outputs}/${file}"
  elif [[ "${code}" == 0 ]]; then
    printf '%s: the training program did not write %s\n' "${label}" "${file}" >&2
    exit 1
  else
    : >"${outputs}/${file}"
  fi
done
: >"${outputs}/failure.txt"
if [[ "${code}" != 0 ]]; then
  tail -n 1 "${scratch}/log" >"${outputs}/failure.txt"
fi

# The last checkpoint only.
mkdir -p "${outputs}/checkpoints"
last="$(find "${run}/checkpoints" -maxdepth 1 -name 'step-*' 2>/dev/null |
  sort -V | tail -n 1)" || true
if [[ "${code}" == 0 && -n "${last}" ]]; then
  cp -R "${last}" "${outputs}/checkpoints/"
  # The weights that were measured: where they are not the last ones, as with
  # early stopping, these are beside them.
  weights="${last}/best.safetensors"
  [[ -e "${weights}" ]] || weights="${last}/weights.safetensors"
  cp "${weights}" "${outputs}/weights.safetensors"
else
  : >"${outputs}/weights.safetensors"
fi
