#!/bin/bash
# Trains the task briefly. Tests its metric, its picture, its errors and its
# plan, and an ablation.

set -euo pipefail

train="${PWD}/$1"
plan="${PWD}/$2"
config="${PWD}/$3"
ablation="$(dirname "${config}")/scores.md"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

wants() { # wants FILE TEXT
  grep -qF -- "$2" "$1" || {
    echo "FAILED: no '$2' in $1:"
    cat "$1"
    exit 1
  }
}

"${train}" --config="${config}" --run=run >out
# Resuming reads the config in the run folder.
"${train}" --resume --run=run >/dev/null
wants out 'fraction of ranks that find their number;'
wants run/report.html 'Ranks (rows) look at numbers (columns)'
wants run/report.html 'accuracy'
wants run/report.html 'rank 5'
wants run/run.json '"name":"accuracy"'
# The accuracy must be much better than a random guess, which is correct for one
# fifth of the ranks.
accuracy="$(sed 's/.*"test\/accuracy":\([0-9.]*\).*/\1/' run/status.json)"
awk -v accuracy="${accuracy}" 'BEGIN { exit !(accuracy > 0.4) }' || {
  echo "FAILED: accuracy ${accuracy}"
  exit 1
}

refuses() { # refuses TEXT ARGUMENT...
  local code=0
  "${train}" --config="${config}" --check "${@:2}" 2>err || code=$?
  [[ "${code}" == 2 ]] || { echo "FAILED: exit code ${code}"; exit 1; }
  wants err "$1"
}
refuses 'model.outside.[lab.sorting].width: must be in' \
  --set 'model.outside.[lab.sorting].width=0'
refuses 'Data for this model: outside.[lab.random_numbers]' \
  --set 'data={reverse {}}'
refuses 'Models for this data: outside.[lab.sorting]' \
  --set 'model={nadaraya_watson {}}'
refuses 'does not apply to `outside.[lab.sorting]`; remove it' \
  --set 'model={encoder {}}'

notes() { # notes TEXT ARGUMENT...
  "${train}" --config="${config}" --check "${@:2}" 2>err >checked
  wants err "note: $1"
}
notes 'loss.label_smoothing: has no effect: sorting predicts no classes' \
  --set loss.label_smoothing=0.1
notes 'training.early_stopping.metric: has no effect: it monitors dev/accuracy' \
  --set 'training.early_stopping={metric: "dev/accuracy"}'

"${plan}" --config="${config}" >planned
wants planned 'w_q'

wants "${ablation}" 'test/accuracy'
wants "${ablation}" 'scaled dot'
