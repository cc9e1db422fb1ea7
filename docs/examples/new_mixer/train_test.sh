#!/bin/bash
# Trains a small model with the mixer, resumes the run, and makes predictions.

set -euo pipefail

train="${PWD}/$1"
regard="${PWD}/$2"
config="${PWD}/$3"
base="${PWD}/$4"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

# Copies the config and sets its `base` to the copy of the base config.
cp "${base}" base.textproto
sed 's|^base:.*|base: "base.textproto"|' "${config}" >example.textproto
mixer='model.language_model.transformer.mixer.outside.[lab.my_mixer]'

# Trains for 20 optimizer steps. $1 is the run folder. The other arguments are
# flags.
train_for_a_moment() {
  "${train}" --config=example.textproto --run="$1" \
    --set data.grammar.train=640 --set training.max_updates=20 "${@:2}"
}

train_for_a_moment run --threads=1
grep -q lab.my_mixer run/resolved.textproto
"${train}" --resume --run=run
train_for_a_moment two --threads=2
digests="$(grep -ho '"weights_digest":"[0-9a-f]*"' run/status.json two/status.json)"
[[ "$(sort -u <<<"${digests}" | wc -l)" == 1 ]]

# A different value of the option must give a different model. A value outside
# of its range must be an error.
train_for_a_moment plain --set "${mixer}.smallest=1"
! cmp run/status.json plain/status.json
for wrong in 'smallest=2 smallest: must be in \[1e-06, 1\], got 2' \
  'heads=5 heads: must divide the width of the layer, 64; got 5'; do
  status=0
  "${train}" --config=example.textproto --run=wrong \
    --set "${mixer}.${wrong%% *}" 2>error || status=$?
  [[ "${status}" == 2 ]]
  grep -q "${wrong#* }" error
done

# Other programs must be able to use the run. Each row of an attention map must
# sum to 1.
"${regard}" evaluate --run=run
[[ "$("${regard}" generate --run=run --top_k=1 'the cat' a)" == \
   "$("${regard}" generate --run=run --beam=1 'the cat' a)" ]]
"${regard}" inspect --run=run 'the cat' --json >inspected.json
python3 - <<'END'
import json

seen = json.load(open("inspected.json"))
assert len(seen["maps"]) == 2 and len(seen["rollout"]) == 1
for of_layer in seen["maps"]:
    assert len(of_layer["heads"]) == 4
    for head in of_layer["heads"]:
        for t, row in enumerate(head):
            assert abs(sum(row) - 1) < 1e-5 and not any(row[t + 1:]), row
END
"${regard}" evaluate --run=run \
  --set "intervene={site: '*/weights' head: 0 replace {uniform {}}}"
