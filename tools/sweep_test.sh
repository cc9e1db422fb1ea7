#!/bin/bash
# Tests sweeps of a tiny experiment with two values and two seeds, which are
# stopped and resumed.

source experiments/testing.sh

regard="${runfiles}/$1"
config="${runfiles}/$2"
phrasebook="${runfiles}/$3"

small=(--config="${config}" --set data.reverse.train=64
  --set data.reverse.dev=8 --set data.reverse.test=8
  --set model.transformer.width=8 --set model.transformer.attention.heads=2
  --set training.checkpoint_every=1)
sweep() {
  "${regard}" sweep "${small[@]}" --set training.epochs=4 --seeds=2 --jobs=2 "$@"
}
axis=(--axis optimizer.learning_rate=.002,.004)

sweep "${axis[@]}" --out=whole >out 2>err
expect_in err 'note: with 2 seeds, no difference can be significant: 1 '
expect 'runs' 4 "$(wc -l <whole/cells.jsonl)"
expect_in whole/cells.jsonl '"arm":"learning_rate_0.002"' '"host":' \
  '"core_seconds":'
expect_in whole/report.md 'All 4 runs finished' '| learning_rate 0.004 |' \
  'With 2 seeds, no difference can be significant' 'All runs share the config '
expect_in whole/report.html '<figure class="forest">' 'Training took'
quietly "${regard}" runs whole

# A run of the sweep must equal a run of `regard train` with the same settings.
quietly "${regard}" train "${small[@]}" --run=alone --threads=2 \
  --set training.epochs=4 --set optimizer.learning_rate=.004 --set seed=1
expect 'digest' "$(digest alone)" \
  "$(digest whole/cells/learning_rate_0.004/seed-1)"

# Nothing is left to train. Standard output must contain only the paths.
sweep "${axis[@]}" --out=whole >out 2>err
expect 'paths' "$(printf '%s\n' report.html report.md cells.jsonl |
  sed "s|^|whole/|")" "$(<out)"
expect 'nothing is trained' '' "$(grep -c finished err | grep -v '^0$' || true)"

# Reads the description that the sweep has written from the flags.
quietly "${regard}" sweep --grid=whole/sweep.textproto --out=whole --collect
quietly "${regard}" sweep --grid=whole/sweep.textproto --out=again \
  --cells=whole/cells.jsonl
cmp whole/cells.jsonl again/cells.jsonl || expect 'records' 'the same' 'others'

# Stops the sweep and resumes it.
code=0
(
  until compgen -G 'stopped/cells/*_0.002/seed-0/checkpoints/step-*' >steps; do
    sleep 0.1
  done
  kill -INT "$(<pid)"
) &
bash -c 'echo $$ >pid; exec "$@"' - "${regard}" sweep "${small[@]}" \
  --seeds=2 --jobs=2 "${axis[@]}" --out=stopped \
  --set training.epochs=100000 >log 2>&1 || code=$?
wait
expect 'exit code of a sweep that is stopped' 130 "${code}"
expect_in log 'stopped, with everything saved'
expect_in stopped/cells/learning_rate_0.002/seed-0/status.json interrupted
fails 'other settings' 'was trained with another config' \
  sweep "${axis[@]}" --out=stopped
sweep "${axis[@]}" --out=stopped --replace >log 2>&1
strip() { sed 's/"core_seconds":[^,]*//' "$1/cells.jsonl"; }
expect 'results' "$(strip whole)" "$(strip stopped)"

# One of the runs fails.
code=0
sweep --axis 'optimizer.learning_rate=.002,1e6' --out=failed \
  --set training.epochs=400 --set training.checkpoint_every=0 \
  --set training.evaluate_every=0 >out 2>err || code=$?
expect 'exit code of a loss that diverges' 3 "${code}"
expect_in err 'failed learning_rate_1e6/seed-0: step '
expect_in failed/report.md '2 of 4 runs are missing'

sweep "${axis[@]}" --out=commands --commands >out
expect 'commands' 4 "$(grep -c '^regard train --config=.* --set seed=[01]$' out)"

fails 'no directory' 'error: --out=DIR is required' sweep "${axis[@]}"
fails 'no axis' 'axis: must have at least one axis' sweep --out=none
fails 'a wrong value' '--axis: error: ' sweep --out=none \
  --axis optimizer.learning_rate=.002,x
fails 'a wrong path' "did you mean 'learning_rate'?" sweep --out=none \
  --axis optimizer.learning_rat=.002,.004
fails 'a wrong metric' '--metric=test/blue' sweep --out=none "${axis[@]}" \
  --metric=test/blue
fails 'the same value' '--axis: error: 1 appears twice' sweep --out=none \
  --axis seed_less=1,1
echo 'axes {}' >grid.textproto
fails 'a wrong grid' 'grid.textproto:1:1: error: ' "${regard}" sweep \
  --out=none --grid=grid.textproto
expect 'nothing is written' 'none' "$([[ -e none ]] || echo none)"
fails_when_full 'paths' sweep "${axis[@]}" --out=whole

# The braces of a message may be omitted. A note must not change the key of a
# cell.
quietly "${regard}" sweep --config="${phrasebook}" --seeds=1 --out=scores \
  --axis model.attention=additive,dot --set training.max_updates=1 \
  --set data.phrasebook.train=50 --set data.phrasebook.dev=5 \
  --set data.phrasebook.test=5 --set data.phrasebook.test_unseen_pairs=5 \
  --set model.encoder.hidden=8 --set model.decoder.hidden=16
expect 'no baseline of the config' 'none' \
  "$([[ -e scores/cells/dot/seed-0/baseline ]] || echo none)"
grep -q '^    dot {' scores/cells/dot/seed-0/resolved.textproto ||
  expect 'score' 'dot' 'another'
