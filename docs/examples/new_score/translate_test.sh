#!/bin/bash
# Trains a small recurrent model and a small Transformer with the score. Then
# translates with their runs, inspects them, and replays them.

set -euo pipefail

train="${PWD}/$1"
translate="${PWD}/$2"
inspect="${PWD}/$3"
replay="${PWD}/$4"
config="${PWD}/$5"
base="${PWD}/$6"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

# translate_by RUN checks that a sentence gives one line, and that `inspect`
# writes a page.
translate_by() {
  [[ "$(echo 'they are watching .' | "${translate}" --run="$1" | wc -l)" == 1 ]]
  "${inspect}" --run="$1" --source='they are watching .' \
    --target='ils regardent .'
  [[ -s "$1/inspect.html" ]]
}

# Copies the config and sets its `base` to the copy of the base config.
cp "${base}" base.textproto
sed 's|^base:.*|base: "base.textproto"|' "${config}" >example.textproto
"${train}" --config=example.textproto --run=example \
  --set data.phrasebook.train=600 --set training.epochs=1
"${train}" --resume --run=example

cat >config.textproto <<'END'
data { phrasebook { train: 600 dev: 10 test: 10 test_unseen_pairs: 10 } }
model {
  encoder { hidden: 16 }
  decoder { hidden: 16 }
  attention { outside { [lab.my_score] { width: 8 } } }
}
training { epochs: 1 checkpoint_every: 1 }
END
"${train}" --config=config.textproto --run=run
# Resuming reads the config in the run folder.
"${train}" --resume --run=run
translate_by run
last="$(grep -o '"step":[0-9]*' run/status.json | cut -d: -f2)"
"${replay}" --run=run --from="${last}" --to="${last}" --site='*weights' >seen
grep -q 'weights/entropy' seen

# An option outside of its range must be an error.
status=0
"${train}" --config=config.textproto --run=range \
  --set 'model.attention.outside.[lab.my_score].width=-3' 2>error || status=$?
[[ "${status}" == 2 ]]
grep -q 'width: must be in \[0, 65536\], got -3' error

# Trains three Transformers: one with this score in all heads, and two with
# different scores.
count=0
cat >transformer.textproto <<'END'
data { phrasebook { train: 600 dev: 10 test: 10 test_unseen_pairs: 10 } }
model {
  transformer {
    width: 16
    layers: 2
    attention { heads: 2 }
    feed_forward { hidden: 16 }
  }
}
training { epochs: 1 }
END
for score in dot={} additive={} 'outside.[lab.my_score].width=8'; do
  run="heads_by_$((++count))"
  "${train}" --config=transformer.textproto --run="${run}" \
    --set "model.transformer.attention.attention.${score}"
  translate_by "${run}"
done
grep -q lab.my_score heads_by_3/resolved.textproto
# Each of the three must be a different model.
[[ "$(grep -h weights_digest heads_by_*/status.json | sort -u | wc -l)" == 3 ]]

# A score that needs the weights of the previous step must be rejected in a
# Transformer.
status=0
"${train}" --config=transformer.textproto --run=history \
  --set 'model.transformer.attention.attention.coverage={}' 2>error || status=$?
[[ "${status}" == 2 ]]
grep -q 'model.transformer.attention.attention' error
