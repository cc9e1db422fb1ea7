#!/bin/bash
# Every kind of workload must answer every command, at the smallest sizes.
set -euo pipefail
program="$1"
shapes=(--batch=4 --source_time=3 --target_time=3 --embedding=4 --hidden=8
        --layers=1 --source_vocabulary=9 --target_vocabulary=9 --heads=2
        --feed_forward=16 --beam=2 --patch=1 --threads=2)
weights="$TEST_TMPDIR/weights.safetensors"

fail() {
  echo "FAILED: $*"
  exit 1
}

for kind in regression translation transformer language_model image additive \
    multi_head search transformer_search attention attention_forward generation \
    continuation embedding classification overhead; do
  for both in false true; do
    answers="$(printf '%s\n' "write $weights" check 'run 2' allocations memory \
      kernel quit | "$program" --name=smoke "--kind=$kind" "${shapes[@]}" \
      "--bidirectional=$both" "--ragged=$both" "--bfloat16=$both")" ||
      fail "$kind ended with $?"
    [[ "$(wc -l <<< "$answers")" == 6 ]] || fail "$kind answers: $answers"
    [[ "$answers" != *nan* ]] || fail "$kind answers: $answers"
    [[ -s "$weights" ]] || fail "$kind wrote no weights"
  done
done

if "$program" --kind=translation --hidden=many 2> "$TEST_TMPDIR/errors"; then
  fail "hidden=many was taken"
fi
grep -q -- "--hidden=many" "$TEST_TMPDIR/errors" || fail "no word of --hidden"
