#!/bin/bash
# Checks what the training program prints to standard error about its progress
# and its run folder.

source experiments/testing.sh

train="${runfiles}/$1"
small=(--config="${runfiles}/$2" --set data.reverse.train=120
  --set data.reverse.dev=4 --set data.reverse.test=4
  --set model.transformer.width=8 --set model.transformer.attention.heads=2
  --set training.epochs=1 --set training.batch_size=3
  --set optimizer.schedule.cosine.warmup=1
  --set 'baseline={name: "short" override {path: "training.max_updates"
    value: "2"}}')
says() { # says WHAT WANTED ARGUMENT...: ignores optimizer steps.
  "${train}" "${@:3}" >out 2>err || expect "$1: exit code" 0 "$?"
  expect "$1" "$2" "$(grep -v '^step ' err)"
}

# The note that a new run prints if it trains a second model.
note="note: this run trains two models: its own, then the baseline 'short'; to train \
no baseline, use --set 'baseline.override=[]'"
says 'a run and its baseline' "num_shards is 2: only 2 of 9 threads have work
${note}
training the baseline 'short'" "${small[@]}" --run=run --threads=9
expect 'about twenty lines' "1/40 $(seq -f '%g/40' -s' ' 2 2 40) 1/2 2/2" \
  "$(sed -n 's/^step \([^ ]*\) .*/\1/p' err | paste -sd' ')"
"${train}" "${small[@]}" --run=slow --set optimizer.schedule.cosine.warmup=41 \
  --set 'baseline.override=[]' >out 2>err
expect_in err 'note: optimizer.schedule: its warm-up takes 41 optimizer ' \
  'steps, but the run has only 40'
says 'a resumed run' "resuming at step 40
training the baseline 'short'
resuming at step 2" --run=run --resume --threads=2

rm run/target_vocabulary.txt
says 'a vocabulary less' "run/target_vocabulary.txt was missing: written again
resuming at step 40
training the baseline 'short'
resuming at step 2" --run=run --resume
echo word >>run/target_vocabulary.txt
fails 'another vocabulary' 'run/target_vocabulary.txt: error: does not match the' \
  "${train}" --run=run --resume
fails 'another config' '  seed: 1 in the run, 2 now' \
  "${train}" --run=run --resume --set seed=2
expect 'the process that trained' '"from_step": 0 "to_step": 40' \
  "$(grep -oE '"(from|to)_step": [0-9]*' run/environment.json | paste -sd' ')"
# Earlier versions wrote 10 and 2 for search limits that were not set. Resuming
# such a run must still work.
beam=("${small[@]}" --set search.beam=2 --set 'baseline.override=[]')
quietly "${train}" "${beam[@]}" --run=beam
sed -i 's/# \(max_length\): 0  # not set/\1: 10  # default/
  s/# \(max_length_ratio\): 0  # not set/\1: 2  # default/' \
  beam/resolved.textproto
expect_in beam/resolved.textproto '  max_length: 10  # default' \
  '  max_length_ratio: 2  # default'
says 'a run of an earlier program' 'resuming at step 40' "${beam[@]}" \
  --run=beam --resume
rm -r run/checkpoints
rm run/target_vocabulary.txt
cp -r run lost
fails 'a finished run without its checkpoints' \
  'lost: error: the run is finished at step 40, but all its checkpoints are' \
  "${train}" --run=lost --resume
expect 'its metrics' "$(<run/metrics.jsonl)" "$(<lost/metrics.jsonl)"
sed -i 's/"finished"/"running"/' run/status.json
says 'no checkpoint' "run has no complete checkpoint: starting at step 0
${note}
training the baseline 'short'
resuming at step 2" --run=run --resume
fails 'nothing to resume' 'nowhere holds no run to resume; name a run folder' \
  "${train}" --run=nowhere --resume
expect 'what it left' '' "$(ls -d nowhere 2>/dev/null)"
mkdir empty
says 'no run' "empty holds no run to resume: starting at step 0
${note}
training the baseline 'short'" "${small[@]}" --run=empty --resume
rm empty/resolved.textproto
fails 'a config that is lost' 'is missing from a run that has metrics.jsonl' \
  "${train}" --run=empty --resume
fails 'another config in its place' 'is missing from a run that has' \
  "${train}" "${small[@]}" --run=empty --resume
rm empty/{metrics.jsonl,status.json}
fails 'no config' 'stopped before training began; give its config file again' \
  "${train}" --run=empty --resume
says 'a run that was stopped' "empty stopped before training began: starting at step 0
${note}
training the baseline 'short'
resuming at step 2" "${small[@]}" --run=empty --resume

# If the baseline was stopped, resuming the run must train the baseline.
: >err
"${train}" "${small[@]}" --run=stopped --set training.epochs=0 \
  --set 'baseline.override=[{path: "training.epochs" value: "100000"}]' \
  >out 2>err &
until grep -q '^step 1/' err; do sleep 0.02; done
kill "$!"
code=0
wait "$!" || code=$?
expect 'a stopped baseline' '143 "state":"interrupted" 1' "${code} $(
  grep -o '"state":"[a-z]*"' stopped/status.json) $(
  grep -cE '^stopped after step [1-9].* saved; resume with --resume --run=stop' \
    err)"

# The status of a killed run must have the metrics of its last evaluation.
: >err
"${train}" "${small[@]}" --run=killed --set training.epochs=100000 \
  --set training.evaluate_every=1 >out 2>err &
until grep -q '^epoch 2 ' err; do sleep 0.02; done
kill -KILL "$!"
wait "$!" 2>/dev/null || true
expect_in killed/status.json '"state":"running"' '"dev/loss":'
expect 'the step of a killed run' 0 "$(grep -c '"step":0,' killed/status.json)"

quietly "${train}" "${small[@]}" --profile \
  --set 'baseline.override=[]' --set training.epochs=2 \
  --set training.evaluate_every=1
folder="$(echo runs/*"-$(date +%Y)"*)"
expect 'what was written' "Run     ${folder}
Report  ${folder}/report.html" "$(tail -n 2 log)"
expect_in log 'epoch 1  dev/alignment_error_rate ' 'all operations  ' \
  " s on $(($(nproc) < 2 ? 1 : 2)) threads"
expect 'evaluations before the end' 1 "$(grep -c '^epoch ' log)"
fails 'a mean of no trained model' \
  'intervene[0].replace.mean: requires a trained model' "${train}" \
  "${small[@]}" --set 'intervene={site: "*residual" replace { mean {} }}' \
  --check
says 'nothing wrong' '' "${small[@]}" --check
expect_in out 'transformer, ' ' parameters' 'reverse, 120 training examples, ' \
  'dev 4 examples, test 4 examples' '40 optimizer steps, 40 per epoch' \
  'baseline   short, ' '2 optimizer steps, 40 per epoch' \
  'at least 6 for a p-value of at most 0.05, and one more for each doubling'
says 'the config of a check' '' "${small[@]}" --check --print
expect 'what is printed is what a run keeps' "$(<run/resolved.textproto)" "$(<out)"
expect_in out '  epochs: 1  # --set' '  # default'
fails 'a config without a check' '--print requires --check' \
  "${train}" "${small[@]}" --run=printed --print
expect 'what it left' '' "$(ls -d printed 2>/dev/null)"

# A field without effect must be reported once, not again for the baseline, and
# the note must be stored.
habits=("${small[@]}" --set optimizer.learning_rate=0
  --set training.early_stopping.patience=2 --set data.reverse.dev=0
  --set training.batch_tokens=50)
notes="optimizer.learning_rate: is 0: training changes no parameter
training.batch_tokens: has no effect without \`group_by_length: true\`; batches have \`batch_size\` examples
training.early_stopping.metric: has no effect: it monitors dev/loss, but the data have no dev split"
said="$(sed 's/^/note: /' <<<"${notes}")"
says 'what has no effect' "${said}" "${habits[@]}" --check
says 'notes beside a config' "${said}" "${habits[@]}" --check --print
expect 'notes in a config' 0 "$(grep -c '^note' out)"
says 'a run with notes' "${said}
${note}
training the baseline 'short'" "${habits[@]}" --run=noted
expect 'the notes of the run' "${notes}" "$(cat noted/notes.txt)"
expect_in noted/report.html 'has no effect: it monitors dev/loss'
expect 'a run without notes' '' "$(ls run/notes.txt 2>/dev/null)"
fails 'a check of a run' '--check and --resume cannot be given together' \
  "${train}" --run=run --resume --check
