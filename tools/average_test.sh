#!/bin/bash
# Trains a small run, and averages checkpoints.

source experiments/testing.sh

train="${runfiles}/$1"
average="${runfiles}/$2"
config="${runfiles}/$3"

weight() { # weight FILE: prints its last weight
  tail -c 4 "$1" | od -An -tf4
}
small=(--set data.reverse.train=128 --set data.reverse.dev=20
  --set data.reverse.test=20 --set model.transformer.width=8
  --set model.transformer.attention.heads=2
  --set training.evaluate_every=1 --set training.epochs=4
  --set training.keep_checkpoints=3 --set optimizer.learning_rate=0.03
  --set 'baseline.override=[{path: "seed" value: "2"}]')
quietly "${train}" --config="${config}" --run=run "${small[@]}"

# A run must finish even if its output goes to a closed pipe.
"${train}" --config="${config}" --run=unread "${small[@]}" 2>log | true || true
expect 'a run whose output is not read' '"state":"finished"' \
  "$(grep -o '"state":"[a-z]*"' unread/status.json)"

code=0
"${train}" --config="${config}" --run=closed "${small[@]}" >&- 2>&- || code=$?
expect 'a report that nobody reads' '1 "state":"finished"' \
  "${code} $(grep -o '"state":"[a-z]*"' closed/status.json)"
expect 'closed streams' "0 $(grep -c . run/metrics.jsonl)" \
  "$(stat -c %s closed/.lock) $(grep -c '^{.*}$' closed/metrics.jsonl)"

quietly "${average}" --run=run --last=1 --out=last
expect 'the mean of one' "$(digest run)" "$(digest last)"
expect 'its measures' "$(grep -o '"test/loss":[0-9.]*' run/status.json)" \
  "$(grep -o '"test/loss":[0-9.]*' last/status.json)"

quietly "${average}" --run=run --last=3 --out=mean --threads=2
expect 'the mean of three' '' "$(awk -v a="$(
  for step in 4 6 8; do weight "run/checkpoints/step-${step}/weights.safetensors"; done
)" -v b="$(weight mean/checkpoints/step-0/weights.safetensors)" 'BEGIN {
  split(a, w); d = (w[1] + w[2] + w[3]) / 3 - b
  if (d > 1e-6 || d < -1e-6 || w[1] == w[3]) print a, b
}')"
"${average}" --run=run --out=all >out 2>err
expect 'no word of a warm-up, as there are no updates' 0 "$(grep -c warm-up err)"
expect 'the mean of all that there are' "$(digest mean)" "$(digest all)"
quietly "${average}" --run=run --last=3 --out=renamed --set name=renamed \
  --set training.epochs=7
expect 'a field changed, and no training' '1 0' \
  "$(grep -c '^name: "renamed"' renamed/resolved.textproto) $(
    grep -o '"step":[0-9]*' renamed/status.json | cut -d: -f2)"
expect 'a report' yes "$([[ -s mean/report.html ]] && echo yes)"

expect 'no baseline of it' no "$([[ -e mean/baseline ]] && echo yes || echo no)"

# The best checkpoint by loss is the last one. The best checkpoint by chrF is a
# different one.
best() { # best METRIC OPTION: prints the best of the kept steps.
  grep "\"dev/$1\"" run/metrics.jsonl | tail -n 3 |
    sed "s|.*\"step\":\([0-9]*\).*\"dev/$1\":\([0-9.]*\).*|\2 \1|" |
    sort "-k1,1$2" -k2,2nr | sed -n '1s/.* //p'
}
for metric in 'loss g' 'chrf gr'; do
  read -r name order <<<"${metric}"
  quietly "${average}" --run=run --last=1 "--metric=dev/${name}" \
    "--out=best_${name}"
  step="$(best "${name}" "${order}")"
  expect "the best one by ${name}" \
    "$(weight "run/checkpoints/step-${step}/weights.safetensors")" \
    "$(weight "best_${name}/checkpoints/step-0/weights.safetensors")"
done

# If a run ends with its best weights, its last record belongs to these weights.
quietly "${train}" --config="${config}" --run=stopped "${small[@]}" \
  --set 'training.early_stopping={metric: "dev/chrf"}'
quietly "${average}" --run=stopped --last=1 --metric=dev/chrf \
  --out=best_stopped
expect 'the same best one' "$(digest best_chrf)" "$(digest best_stopped)"

# Averaging an average must not inherit the metric of its initial weights.
quietly "${average}" --run=best_chrf --last=1 --out=again
expect 'the metric of the run to average' 0 \
  "$(grep -c 'metric: "dev/chrf"' again/resolved.textproto)"

# A damaged checkpoint must be ignored, and a note must name it.
cp -r run damaged
truncate -s -4 damaged/checkpoints/step-8/weights.safetensors
quietly "${average}" --run=damaged --last=2 --out=rest
expect_in log 'training.initial_weights: checkpoint of step 8 is damaged'

fails 'too many' 'has 3 complete checkpoints, but `average` requires 4' \
  "${average}" --run=run --last=4 --out=never
fails 'a former name' 'no flag --checkpoints any more; write --last=N' \
  "${average}" --run=run --checkpoints=3 --out=never
fails 'no run' '--run=DIR must name' "${average}"
fails 'no metric' 'dev/blue is not a metric on dev' \
  "${average}" --run=run --metric=dev/blue --out=never
fails 'other sizes' "training.initial_weights.run: " \
  "${train}" --config="${config}" --run=never "${small[@]}" \
  --set model.transformer.feed_forward.hidden=4 \
  --set 'training.initial_weights={run: "run"}'
fails 'another vocabulary' 'does not match the data of this config; use the data with which the weights were trained' \
  "${train}" --config="${config}" --run=never "${small[@]}" \
  --set data.reverse.symbols=20 --set 'training.initial_weights={run: "run"}'
fails 'a baseline that is another model' 'baseline: its overrides make' \
  "${train}" --config="${config}" --run=never "${small[@]}" \
  --set 'training.initial_weights={run: "run"}' \
  --set 'baseline={override {path: "model.transformer.width" value: "4"}}'
expect 'what fails leaves nothing' '' "$(ls -d never 2>/dev/null || true)"
