#!/bin/bash
# Writes the report of a trained run, as a build action.
#
# Usage: report_as_action OUTPUTS RUN TRAINER [ARGUMENT...]
#
# RUN is the folder that train_as_action has written. Resuming a finished run
# trains nothing and writes its report. A failed run has no report, so the files
# are empty.

set -euo pipefail

outputs="$1"
run="$2"
shift 2

entries=("${run}"/*)
scratch="$(mktemp -d "$(realpath "${outputs}")/scratch.XXXXXX")"
trap 'rm -rf "${scratch}"' EXIT
# Copies the inputs, because an action must not change them.
mkdir "${scratch}/run"
cp -RL "${entries[@]}" "${scratch}/run"
chmod -R u+w "${scratch}/run"
rm -f "${scratch}/run/"{attention.json,report.html}
files=(attention.json report.html)
if [[ -s "${run}/failure.txt" ]]; then
  for file in "${files[@]}"; do
    : >"${outputs}/${file}"
  done
  exit
fi
"$@" --resume --run="${scratch}/run" >"${scratch}/log" 2>&1 || {
  code=$?
  cat "${scratch}/log" >&2
  exit "${code}"
}
for file in "${files[@]}"; do
  cp "${scratch}/run/${file}" "${outputs}/${file}"
done
