#!/bin/bash
# Replays a part of a run, and detects runs whose results differ.

source experiments/testing.sh

train="${runfiles}/$1"
replay="${runfiles}/$2"
config="${runfiles}/$3"

quietly "${train}" --config="${config}" --run=run \
  --set data.reverse.train=128 --set data.reverse.dev=20 \
  --set data.reverse.test=20 --set model.transformer.width=8 \
  --set model.transformer.attention.heads=2 --set training.epochs=5 \
  --set training.keep_checkpoints=3 --set training.log_every=1 \
  --set training.checkpoint_every=3 \
  --set 'probe={site: "*/weights" statistic: ENTROPY every: 5}'
# Ten optimizer steps. The checkpoints of steps 6, 9 and 10 are kept.
site='encoder/layers[0]/self/attention/weights'

"${replay}" --run=run --from=8 --to=9 --site='*/self/*/weights' \
  --out=seen.jsonl 2>err
expect_in err 'repeated steps 7 to 9 from the checkpoint of step 6. All 12' \
  'the weights of step 9 are equal: '
expect 'steps' '8 9' "$(grep -o '"step":[0-9]*' seen.jsonl | cut -d: -f2 |
  paste -sd' ')"
expect_in seen.jsonl "\"probe/${site}/top_key_share\":"
mkdir runs
ln -s ../run runs/latest
expect 'the latest run' "$(<seen.jsonl)" "$("${replay}" --from=8 --to=9 \
  --site='*/self/*/weights' 2>err)"
expect_in err 'note: no --run was given; using the latest run, runs/../run'

# Replays the run to its end. The digest must be the recorded digest.
"${replay}" --run=run --from=10 --to=10 --site="${site}" >seen 2>err
expect_in err "$(digest run | cut -d'"' -f4)"
expect 'what the run itself had reported' \
  "$(grep -o "\"probe/${site}/entropy\":[^,}]*" run/metrics.jsonl | tail -n 1)" \
  "$(grep -o "\"probe/${site}/entropy\":[^,}]*" seen)"
expect 'threads' "$(<seen)" "$("${replay}" --run=run --from=10 --to=10 \
  --site="${site}" --threads=1 2>/dev/null)"

"${replay}" --run=run --from=7 --to=8 --site='*/context' \
  --out=seen.safetensors 2>err
expect_in seen.safetensors \
  'step-7/shard-0/encoder/layers[0]/self/attention/context' \
  'step-8/shard-1/decoder/layers[1]/cross/attention/context'

fails 'an unknown site' "the nearest is '${site}'" \
  "${replay}" --run=run --from=8 --to=9 --site="${site/self/slef}"
fails 'no checkpoint before' \
  'no checkpoint before step 6 (--from); it has the checkpoints of steps 6, 9, 10' \
  "${replay}" --run=run --from=6 --to=9 --site='*'
fails 'no checkpoint after' 'no checkpoint of step 11 (--to) or later' \
  "${replay}" --run=run --from=8 --to=11 --site='*'
fails 'steps in the wrong order' '--from must be at most --to' \
  "${replay}" --run=run --from=9 --to=8 --site='*'
fails 'a wrong ending' 'a.npz: must end in .jsonl or .safetensors' \
  "${replay}" --run=run --from=8 --to=9 --site='*' --out=a.npz
fails 'a file of the run' "run/metrics.jsonl: belongs to a run" \
  "${replay}" --run=run --from=8 --to=9 --site='*' --out=run/metrics.jsonl
fails 'no run' 'nowhere' \
  "${replay}" --run=nowhere --from=8 --to=9 --site='*'
fails 'a model from elsewhere' "is a Hugging Face model folder" \
  "${replay}" --run="${runfiles}/$4" --from=8 --to=9 --site='*'

# Each batch of an optimizer step must be observed. It is an error if the data
# have changed.
printf 'a b\tb a\nc a\ta c\nb c\tc b\nd a\ta d\n' >pairs.tsv
quietly "${train}" --config="${config}" --run=files \
  --set 'data={pairs {}}' --set data.path=pairs.tsv \
  --set model.transformer.width=8 --set model.transformer.attention.heads=2 \
  --set training.batch_size=2 --set optimizer.accumulate_batches=2 \
  --set training.epochs=2 --set training.checkpoint_every=1
"${replay}" --run=files --from=2 --to=2 --site=encoder/embedded \
  --out=seen.safetensors 2>err
expect_in seen.safetensors '"step-2/shard-1/encoder/embedded"' \
  '"step-2/batch-1/shard-0/encoder/embedded"'
echo >>pairs.tsv
fails 'other data' \
  'error: data.path has changed since the training of files: its SHA-256 is now ' \
  "${replay}" --run=files --from=2 --to=2 --site=encoder/embedded

# Edits a run with sed, so that its records or weights differ from the replay.
differs() { # differs WHAT PART EDIT
  rm -rf other
  cp -r run other
  sed -i "$3" other/metrics.jsonl
  fails "$1" "other: error: step $2; the replay must repeat the run exactly" \
    "${replay}" --run=other --from=8 --to=9 --site='*/weights'
}
differs 'a record less' '8: metrics.jsonl of the run lacks a record of this step' '/"step":8,/d'
differs 'a record more' '9: the replay ended before it repeated all records of '\
'metrics.jsonl and the last checkpoint' \
  '/"step":9,/p'
differs 'a number less' '8: the run did not record train/loss' \
  '/"step":8,/s/"train.loss":[0-9.]*,//'
differs 'a number more' '9: the run recorded more metrics than the replay' \
  '/"step":9,/s/"train.loss"/"train\/more":1,&/'
cp run/metrics.jsonl other
cp run/checkpoints/step-6/weights.safetensors other/checkpoints/step-9
sum="$(sha256sum <run/checkpoints/step-6/weights.safetensors | cut -d' ' -f1)"
sed -i "/weights/s/\"sha256\": \"[0-9a-f]*/\"sha256\": \"${sum}/" \
  other/checkpoints/step-9/manifest.json
fails 'other weights' 'other: error: step 9: the weights encoder.embedding.weight differ' \
  "${replay}" --run=other --from=8 --to=9 --site='*/weights'

# The run has another value of a metric, and another compiler.
sed -i 's/\("step":8.*"train\/loss":\)[0-9.]*/\11/; s/"seconds":[0-9.e-]*/"seconds":1/' \
  run/metrics.jsonl
sed -i 's/"compiler": ".*"/"compiler": "GCC 4"/' run/environment.json
fails 'another number' 'error: step 8: train/loss is ' \
  "${replay}" --run=run --from=8 --to=9 --site='*/weights'
expect_in err ', but 1 in the run; the replay must repeat the run exactly' \
  '  compiler: GCC 4 before, '
