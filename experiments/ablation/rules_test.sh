#!/bin/bash
# What the build rules make of runs of a stand-in for the trainer. With a folder
# as argument, writes the golden files there instead:
# bazel run //experiments/ablation:rules_test -- "$PWD/experiments/ablation/testdata"

set -euo pipefail

cd experiments/ablation
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

# expect_equal WHAT GOLDEN FILE
expect_equal() {
  if [[ -n "${update}" ]]; then
    install -m 644 "$(readlink -f "$3")" "${update}/$2"
  elif ! diff -u "testdata/$2" "$3"; then
    fail "$1"
  fi
}

# expect_text WHAT PATTERN TEXT: the pattern is a glob.
expect_text() {
  # shellcheck disable=SC2053  # The right side is meant as a pattern.
  if [[ "$3" != $2 ]]; then
    fail "$1"
    printf '  wanted: %s\n  got: %s\n' "$2" "$3"
  fi
}

update="${1:-}"

expect_equal "the report of a grid with failed runs" fake_grid.md fake_grid.md
expect_equal "the runs of the grid as CSV" fake_grid.csv fake_grid.csv
expect_equal "claims and ours" fake_claims.md fake_claims.md
expect_text "the page draws curves with bands" '*"low":\[*' \
  "$(<fake_grid.html)"
expect_text "and every cell's weights for the same source" \
  '*Side by side: a source*q + k, rate 0.5*q | k, rate 1*\[750,250\]*\[125,875\]*' \
  "$(<fake_grid.html)"

for file in attention.json config.textproto environment.json examples.jsonl \
  failure.txt metrics.jsonl report.html resolved.textproto status.json weights.safetensors \
  checkpoints/step-3/weights.safetensors; do
  [[ -e "fake_experiment/${file}" ]] || fail "an experiment leaves ${file}"
done

# The tools of the actions, by hand.
cd ../..
scratch="$(mktemp -d "${TEST_TMPDIR:-/tmp}/XXXXXX")"
trap 'rm -rf "${scratch}"' EXIT
tools=experiments/ablation
trainer=("${tools}/fake_trainer" --config="${tools}/testdata/fake.textproto")

files=""
train() { # train fail|keep OUTPUTS [ARGUMENT...]: sets out and code.
  mkdir -p "$2"
  code=0
  out="$("${tools}/train_as_action" "$2" //some:label "$1" "${files}" \
    "${trainer[@]}" "${@:3}" 2>&1)" || code=$?
}

train fail "${scratch}/once"
TMPDIR="${scratch}/missing" train fail "${scratch}/twice"
expect_text "success is quiet, and needs no other folder" "0 " "${code} ${out}"
[[ -z "$(find "${scratch}/twice" -name 'scratch*')" ]] ||
  fail "a run takes away what it worked in"
diff -r "${scratch}/once" "${scratch}/twice" || fail "a run repeats its bytes"

train fail "${scratch}/last" --set rate=1
expect_text "the weights are the last ones" w \
  "$(<"${scratch}/last/weights.safetensors")"
train fail "${scratch}/best" --set rate=2
expect_text "but for a run that measured others" best \
  "$(<"${scratch}/best/weights.safetensors")"
expect_text "whose last ones are those of its checkpoint" w \
  "$(<"${scratch}/best/checkpoints/step-3/weights.safetensors")"

train fail "${scratch}/failed" --set rate=-1
expect_text "a failure fails the action, and says why" \
  "3 //some:label: training ended with exit code 3:*not a number" \
  "${code} ${out}"
train keep "${scratch}/kept" --set rate=-1
expect_text "unless it is kept" "0 //some:label:*not a number" "${code} ${out}"
expect_text "with its reason" "step 2: decoder/score: not a number" \
  "$(<"${scratch}/kept/failure.txt")"
train keep "${scratch}/full" --set rate=-2
expect_text "a full disk is never kept" \
  "1 //some:label: training ended with exit code 1:*No space left*" \
  "${code} ${out}"
[[ ! -e "${scratch}/full/failure.txt" ]] ||
  fail "what is not kept leaves no result"
train keep "${scratch}/wrong" --set rat=1
expect_text "a wrong config is never kept" "2 *" "${code} ${out}"

files="run.json vocabulary.txt"
train fail "${scratch}/further"
expect_text "a further file that the run lacks fails the action" \
  "1 *the training program did not write vocabulary.txt" "${code} ${out}"

printf 'good\trate=2\nbad\trate=2\tmodel.additve.width=3\n' >"${scratch}/cells"
printf 'high\tmodel.additive.width=101\n' >>"${scratch}/cells"
code=0
out="$("${tools}/check_cells" "${scratch}/ok" //some:grid "${scratch}/cells" \
  "${trainer[@]}" 2>&1)" || code=$?
expect_text "a misspelt path fails the check of the cells" \
  "1 //some:grid: cell bad:*additve*did you mean 'additive'*\^*" "${code} ${out}"
expect_text "and so does a wrong value, at once" \
  "*//some:grid: cell high:*101*2 of its cells cannot be trained" "${out}"
[[ ! -e "${scratch}/ok" ]] || fail "cells that are wrong are not ok"

cat >"${scratch}/grid.json" <<'END'
{"label": "//some:grid", "name": "grid", "question": "", "axes": [],
 "metrics": ["dev/loss", "dev/los"],
 "runs": [{"label": "//some:run", "coordinates": [], "seed": "2",
           "folder": "experiments/ablation/fake_experiment"}]}
END
code=0
out="$("${tools}/results_tool" report "${scratch}/grid.json" \
  "${scratch}/grid."{md,csv,html} 2>&1)" || code=$?
expect_text "a metric that no run has ends the report" \
  "2 *grid.json:2:*no run has the metric 'dev/los'; did you mean 'dev/loss'?*" \
  "${code} ${out}"

exit "$((failures > 0))"
