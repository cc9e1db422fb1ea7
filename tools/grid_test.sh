#!/bin/bash
# Trains a grid with `regard sweep` that Bazel has also trained. The results
# must agree.

source experiments/testing.sh

regard="${runfiles}/$1"
folder="${runfiles}/experiments/ablation"
out="${PWD}"
# Paths in the description are relative to the root of the sources.
cd "${runfiles}"
grid=experiments/ablation/tiny_grid_sweep.textproto

# The last of three learning rates diverges.
code=0
"${regard}" sweep --grid="${grid}" --out="${out}/own" >"${out}/log" 2>&1 ||
  code=$?
expect 'exit code' 3 "${code}"
records() { # records FILE: prints fields that do not depend on the machine.
  sed 's/,"core_seconds":.*//' "$1"
}
expect 'keys, metrics and digests' "$(records "${folder}/tiny_grid.cells.jsonl")" \
  "$(records "${out}/own/cells.jsonl")"
report() { # report FILE: prints it without the label of the grid and times.
  sed -E 's|^This report on [^ ]* (covers 6 cells .* missing\.).*|\1|' "$1"
}
expect 'reports' "$(report "${folder}/tiny_grid.md")" \
  "$(report "${out}/own/report.md")"

# The sweep must import Bazel's runs and train only the missing runs.
code=0
"${regard}" sweep --grid="${grid}" --out="${out}/imported" --seeds=1 \
  --import="${folder}" >"${out}/log" 2>&1 || code=$?
expect 'exit code' 3 "${code}"
expect_in "${out}/log" 'imported 1 runs' 'finished q___k__learning_rate_0.5_2/'
if grep -q 'finished q___k__learning_rate_1/' "${out}/log"; then
  expect 'the imported run' 'not trained' 'trained'
fi
expect 'records' \
  "$(records "${out}/own/cells.jsonl" | grep '"seed":0')" \
  "$(records "${out}/imported/cells.jsonl")"
# The files of a report must be equal, too.
cmp "${folder}/tiny_grid__q___k__learning_rate_1__seed_0/attention.json" \
  "${out}/imported/cells/q___k__learning_rate_1/seed-0/attention.json" ||
  expect 'attention.json' 'the same' 'another'
