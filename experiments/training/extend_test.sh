#!/bin/bash
# Trains a run to its end, and then extends it. The result must equal a run that
# had the new length from the start.

source experiments/testing.sh

train="${runfiles}/$1"
small=(--omit_times --config="${runfiles}/$2" --set data.reverse.train=60
  --set data.reverse.dev=8 --set data.reverse.test=4
  --set model.transformer.width=8 --set model.transformer.attention.heads=2
  --set training.batch_size=10 --set training.evaluate_every=1
  --set 'baseline.override=[]')
constant=(--set 'optimizer.schedule={constant {}}')

# Compares two run folders. The config, and the files that record the history,
# may differ.
same() { # same WHAT A B: compares two folders.
  expect "$1" '' "$(diff -rq -x 'resolved*' -x config.textproto \
    -x environment.json -x report.html "$2" "$3")"
}

quietly "${train}" "${small[@]}" "${constant[@]}" --run=long \
  --set training.epochs=5
quietly "${train}" "${small[@]}" "${constant[@]}" --run=run \
  --set training.epochs=3
cp run/resolved.textproto before
cp -r run other
"${train}" --omit_times --resume --run=run --set training.epochs=5 >out 2>err
expect_in err 'note: training.epochs changed; the config so far is in ' \
  'run/resolved.until-step-12.textproto' 'resuming at step 12' \
  'note: the run now ends at step 30 instead of 18, at a learning rate of 0.002' \
  '; optimizer.schedule does not depend on the number of steps'
same 'a constant schedule' long run
expect 'digest' "$(digest long)" "$(digest run)"
expect 'the config so far' "$(<before)" "$(<run/resolved.until-step-12.textproto)"
expect 'the config' "$(sed 's/^  epochs: 3  # --set/  epochs: 5  # --set/' before)" \
  "$(<run/resolved.textproto)"
"${train}" --omit_times --resume --run=run --set training.epochs=5 >out 2>err
expect 'once more, nothing changes' 'resuming at step 30' "$(<err)"
same 'once more' long run

# The run was killed before the extension saved a checkpoint.
cp -r other killed
rm -r killed/checkpoints/step-18
quietly "${train}" --omit_times --resume --run=killed --set training.epochs=5
same 'a run that was killed' long killed

# The schedule, the average and early stopping have a state that the extension
# must preserve.
watching=("${small[@]}" --set optimizer.learning_rate=0.05
  --set 'optimizer.schedule={reduce_on_plateau {patience: 0}}'
  --set training.ema_decay=0.9 --set 'training.early_stopping={patience: 9}')
quietly "${train}" "${watching[@]}" --run=watched_long --set training.max_updates=31 \
  --set training.log_every=4
quietly "${train}" "${watching[@]}" --run=watched --set training.max_updates=20 \
  --set training.log_every=4
quietly "${train}" --omit_times --resume --run=watched --set training.max_updates=31
same 'schedule, average and choice of weights' watched_long watched

# A baseline without its own length must be extended with the run.
for baseline in 'name: "wide" override {path: "model.transformer.width" value: "12"}' \
  'name: "short" override {path: "training.max_updates" value: "2"}'; do
  rm -rf two two_long
  with=("${small[@]}" "${constant[@]}" --set "baseline={${baseline}}")
  quietly "${train}" "${with[@]}" --run=two_long --set training.epochs=3
  quietly "${train}" "${with[@]}" --run=two --set training.epochs=2
  quietly "${train}" --omit_times --resume --run=two --set training.epochs=3
  same "a baseline, ${baseline}" two_long two
  expect_in two/baseline/resolved.textproto '  epochs: 3  # --set'
done

# If the schedule depends on the length, a note must name it.
quietly "${train}" "${small[@]}" --run=cosine --set training.epochs=3 \
  --set optimizer.schedule.cosine.warmup=1
"${train}" --omit_times --resume --run=cosine --set training.epochs=4 >out 2>err
expect_in err 'optimizer.schedule depends on the number of steps: the learning ' \
  'rate of step 13 is ' ' so the result differs from a run that had this length'

# Errors: another field has changed, or training cannot continue from the end.
fails 'another field' '  seed: 1 in the run, 2 now' \
  "${train}" --resume --run=other --set seed=2 --set training.epochs=5
expect_in err 'only these fields may change: training.epochs, training.max_updates'
expect 'what may change' 0 "$(grep -c '  training.epochs: ' err)"
cp -r other single
rm -r single/checkpoints/step-12
fails 'no checkpoint before the end' \
  'checkpoints/step-18: error: ends the run at step 18, and no earlier' \
  "${train}" --resume --run=single --set training.epochs=5
fails 'a shorter run' 'error: ends the run at step 18, and no earlier' \
  "${train}" --resume --run=other --set training.epochs=1
expect 'the config of a refused run' "$(<before)" "$(<other/resolved.textproto)"
expect 'its checkpoints' "step-12 step-18" "$(ls other/checkpoints | paste -sd" ")"
# Resuming a finished run of the same length must change only the config.
"${train}" --omit_times --resume --run=other --set training.keep_checkpoints=5 \
  >out 2>err
expect_in err 'resuming at step 18' 'note: training.keep_checkpoints changed'
expect_in other/resolved.textproto '  keep_checkpoints: 5  # --set'
expect 'its weights' "$(digest single)" "$(digest other)"
