#!/bin/bash
# Trains in a scratch folder, and copies the results to the outputs of a build
# action.
#
# Usage: train_as_action OUTPUTS LABEL fail|keep FILES OVERRIDES TRAINER
#     [ARGUMENT...]
#
# FILES are further files of the run folder to copy, separated by spaces.
# OVERRIDES is empty, or a file with one override per line. These precede the
# overrides in the arguments.
#
# With `keep`, a run whose loss diverged (exit code 3) is a result, because it
# would diverge again. In this case, status.json has the state, failure.txt has
# the reason, and the other files may be empty. Any other failure, such as an
# invalid config, a full disk or a signal, fails the action, so that nothing is
# cached.

set -euo pipefail

outputs="$1"
label="$2"
on_failure="$3"
read -r -a files <<<"$4"
override_file="$5"
trainer="$6"
shift 6

overrides=()
if [[ -n "${override_file}" ]]; then
  while IFS= read -r override; do
    overrides+=(--set "${override}")
  done <"${override_file}"
fi

# Makes the scratch folder inside the outputs, so that the sandbox removes it if
# the action is killed.
scratch="$(mktemp -d "$(realpath "${outputs}")/scratch.XXXXXX")"
trap 'rm -rf "${scratch}"' EXIT
run="${scratch}/run"

code=0
"${trainer}" "${overrides[@]}" "$@" --run="${run}" >"${scratch}/log" 2>&1 || code=$?

if [[ "${code}" != 0 ]]; then
  printf '%s: training ended with exit code %s:\n' "${label}" "${code}" >&2
  tail -n 40 "${scratch}/log" >&2
  if [[ "${code}" != 3 || "${on_failure}" != keep ]]; then
    exit "${code}"
  fi
fi

for file in config.textproto environment.json examples.jsonl metrics.jsonl \
  resolved.textproto run.json status.json "${files[@]}"; do
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

# copy_last_checkpoint RUN COPY copies the last checkpoint of the run folder RUN
# to the folder COPY.
copy_last_checkpoint() {
  mkdir -p "$2/checkpoints"
  last="$(find "$1/checkpoints" -maxdepth 1 -name 'step-*' 2>/dev/null |
    sort -V | tail -n 1)" || true
  [[ -z "${last}" ]] || cp -R "${last}" "$2/checkpoints/"
}

mkdir -p "${outputs}/baseline" "${outputs}/checkpoints"
: >"${outputs}/weights.safetensors"
if [[ "${code}" == 0 ]]; then
  if [[ -d "${run}/baseline" ]]; then
    find "${run}/baseline" -maxdepth 1 -type f -exec \
      cp -t "${outputs}/baseline" '{}' +
    copy_last_checkpoint "${run}/baseline" "${outputs}/baseline"
  fi
  copy_last_checkpoint "${run}" "${outputs}"
  # Copies the weights that were measured. They are in best.safetensors if they
  # differ from the last weights, for example with early stopping.
  weights="${last}/best.safetensors"
  [[ -e "${weights}" ]] || weights="${last}/weights.safetensors"
  [[ -z "${last}" ]] || cp "${weights}" "${outputs}/weights.safetensors"
fi
