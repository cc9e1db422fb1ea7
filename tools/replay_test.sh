#!/bin/bash
# Trains a part of a run again, and is told of a run that is not the same.

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
# Ten updates; checkpoints of steps 6, 9 and 10 are kept.
site='encoder/layers[0]/self/attention/weights'

"${replay}" --run=run --from=8 --to=9 --site='*/self/*/weights' \
  --out=seen.jsonl 2>err
expect_in err 'updates 7 to 9 from the checkpoint of step 6: ' \
  'and the weights of step 9: '
expect 'steps' '8 9' "$(grep -o '"step":[0-9]*' seen.jsonl | cut -d: -f2 |
  paste -sd' ')"
expect_in seen.jsonl "\"probe/${site}/top_key_share\":"

# To the end, whose digest the run has.
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
  'no checkpoint before update 6 (--from); it has those of steps 6, 9, 10' \
  "${replay}" --run=run --from=6 --to=9 --site='*'
fails 'no checkpoint after' 'no checkpoint of step 11 (--to) or later' \
  "${replay}" --run=run --from=8 --to=11 --site='*'
fails 'steps in the wrong order' 'in this order' \
  "${replay}" --run=run --from=9 --to=8 --site='*'
fails 'a wrong ending' 'must end in .safetensors or .jsonl, got a.npz' \
  "${replay}" --run=run --from=8 --to=9 --site='*' --out=a.npz
fails 'no run' 'nowhere' \
  "${replay}" --run=nowhere --from=8 --to=9 --site='*'
fails 'a model from elsewhere' "is a folder of Hugging Face's" \
  "${replay}" --run="${runfiles}/$4" --from=8 --to=9 --site='*'

# Another number, and another compiler.
sed -i 's/\("step":8.*"train\/loss":\)[0-9.]*/\11/; s/"seconds":[0-9.e-]*/"seconds":1/' \
  run/metrics.jsonl
sed -i 's/"compiler": ".*"/"compiler": "GCC 4"/' run/environment.json
fails 'another number' 'error: step 8: train/loss is ' \
  "${replay}" --run=run --from=8 --to=9 --site='*/weights'
expect_in err ', but 1 in the run: this is not the same run' \
  '  then:   "compiler": "GCC 4"'
