#!/bin/bash
# Tests a run whose checkpoints are on another disk. All programs must find
# them. No program may use or remove the checkpoints of another run.

source experiments/testing.sh

train="${runfiles}/$1"
average="${runfiles}/$2"
inspect="${runfiles}/$3"
translate="${runfiles}/$4"
config="${runfiles}/$5"

small=(--threads=1 --omit_times --config="${config}"
  --set data.reverse.train=128 --set data.reverse.dev=20
  --set data.reverse.test=20 --set model.transformer.width=8
  --set model.transformer.attention.heads=2 --set training.epochs=4
  --set training.checkpoint_every=2 --set training.keep_checkpoints=2
  --set 'baseline.override=[{path: "seed" value: "2"}]')
names() { (cd "$1" && find . -name 'step-*' -type d | sort | xargs); }
contents() { find "$@" -type f -exec sha256sum {} + | sort; }

quietly "${train}" "${small[@]}" --run=plain
quietly "${train}" "${small[@]}" --run=run --checkpoints=disk
expect 'the same weights' "$(digest plain)" "$(digest run)"
expect 'no checkpoint in the run' '' "$(names run)"
expect 'as many on the disk' "$({
  names plain/checkpoints
  names plain/baseline/checkpoints | sed 's|\./|./baseline/|g'
} | xargs -n 1 | sort | xargs)" "$(names disk | xargs -n 1 | sort | xargs)"
expect 'the path on one side' "\"path\":\"${PWD}/disk\"" \
  "$(grep -o '"path":"[^"]*"' run/checkpoints.json)"
expect 'and on the other' "\"path\":\"${PWD}/run\"" \
  "$(grep -o '"path":"[^"]*"' disk/checkpoints.json)"
expect 'one id' "$(grep -o '"id":"[0-9a-f]\{64\}"' run/checkpoints.json)" \
  "$(grep -o '"id":.*"' disk/checkpoints.json)"

# Resuming does not need the flag, because the record names the folder.
before="$(contents run disk)"
quietly "${train}" --resume --omit_times --run=run
expect 'resuming a finished run changes nothing' "${before}" \
  "$(contents run disk)"
expect 'a translation' "$("${translate}" --run=plain '1 2 3')" \
  "$("${translate}" --run=run '1 2 3')"
quietly "${inspect}" --run=run --source='1 2 3' --out=page.html
quietly "${average}" --run=run --last=2 --out=mean
quietly "${average}" --run=plain --last=2 --out=plain_mean
expect 'a mean' "$(digest plain_mean)" "$(digest mean)"
quietly "${train}" "${small[@]}" --run=sequel --set 'baseline.override=[]' \
  --set 'training.initial_weights={run: "run"}'

# Resumes from a checkpoint on the other disk. The last checkpoint is missing,
# as after a kill.
last="$(names plain/checkpoints | tr ' ' '\n' | sort -V | tail -n 1)"
rm -r "disk/${last}"
"${train}" --resume --omit_times --run=run >log 2>&1 || cat log
expect_in log 'resuming at step '
expect 'the same weights after resuming' "$(digest plain)" "$(digest run)"

# The id of a run depends on its config and data. The checkpoint folder of
# another run must be rejected, and nothing may be removed.
before="$(contents disk)"
fails 'the disk of another run' 'holds checkpoints of another run' \
  "${train}" "${small[@]}" --set seed=9 --run=other --checkpoints=disk
expect 'what the other run left' '' "$(find other -type f ! -name .lock)"
cp -r run twin
fails 'a copy of a run, which is not to prune its checkpoints' \
  'resume it with --checkpoints=' \
  "${train}" --resume --omit_times --run=twin
cp -r run copied
sed -i 's/"id":"./"id":"x/' copied/checkpoints.json
for command in "${train} --resume --omit_times --run=copied" \
  "${translate} --run=copied 1" "${inspect} --run=copied --source=1" \
  "${average} --run=copied --out=never"; do
  # shellcheck disable=SC2086
  fails "a record of another id: ${command%% *}" \
    'holds checkpoints of another run' ${command}
done
for record in '' '{' '[]' '{"path":"disk"}' '{"path":1,"id":"x"}'; do
  printf '%s' "${record}" >copied/checkpoints.json
  fails "a record that is ${record}" \
    'copied/checkpoints.json:1:' \
    "${translate}" --run=copied 1
done
expect 'nothing there is touched' "${before}" "$(contents disk)"
expect 'nothing made' '' "$(ls -d never 2>/dev/null || true)"

fails 'a run that has its checkpoints at home' 'already holds checkpoints' \
  "${train}" --resume --omit_times --run=plain --checkpoints=another
mkdir used && cp -r plain/checkpoints/. used
fails 'a folder of steps without a record' 'already holds checkpoints' \
  "${train}" "${small[@]}" --run=fresh --checkpoints=used

# The disk is missing at first, and then has another path.
mv disk moved
fails 'a disk that is not there' 'check that its disk is mounted' \
  "${train}" --resume --omit_times --run=run
[[ ! -e disk ]] || expect 'no folder in its place' '' disk
fails 'the run itself' '--checkpoints: error: must not name the run folder' \
  "${train}" "${small[@]}" --run=itself --checkpoints=itself
before="$(contents plain)"
fails 'the folder of another run' 'plain: error: holds a run, or the' \
  "${train}" "${small[@]}" --run=thief --checkpoints=plain
expect 'which is left alone' "${before}" "$(contents plain)"
quietly "${train}" --resume --omit_times --run=run --checkpoints=moved
expect 'its new place' "\"path\":\"${PWD}/moved\"" \
  "$(grep -o '"path":"[^"]*"' run/checkpoints.json)"
fails 'a place that is not that of its checkpoints' 'has no checkpoints.json' \
  "${train}" --resume --omit_times --run=run --checkpoints=empty

# The checkpoint folder may be a symbolic link, but a checkpoint must not
# contain one.
ln -s "${PWD}/moved" link
quietly "${train}" --resume --omit_times --run=run --checkpoints=link
ln -s /nowhere "moved/${last}/link"
fails 'a link among the checkpoints' 'is a symbolic link' \
  "${train}" --resume --omit_times --run=run

# A folder that a program only reads may contain links to files, like Bazel's
# inputs.
cp -rs "${PWD}/plain" linked
expect 'a translation by links' "$("${translate}" --run=plain '1 2 3')" \
  "$("${translate}" --run=linked '1 2 3')"
quietly "${inspect}" --run=linked --source='1 2 3' --out=page.html
quietly "${average}" --run=linked --last=2 --out=linked_mean
expect 'a mean of links' "$(digest plain_mean)" "$(digest linked_mean)"
fails 'but not to be written' 'is a symbolic link' \
  "${train}" --resume --omit_times --run=linked
