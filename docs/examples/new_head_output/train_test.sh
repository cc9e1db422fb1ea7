#!/bin/bash
# Trains a small model with the head output, resumes the run and evaluates it.

set -euo pipefail

train="${PWD}/$1"
evaluate="${PWD}/$2"
config="${PWD}/$3"
base="${PWD}/$4"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

# Copies the config and sets its `base` to the copy of the base config.
cp "${base}" base.textproto
sed 's|^base:.*|base: "base.textproto"|' "${config}" >example.textproto
output='model.transformer.attention.head_output.outside.[lab.my_output]'

# Trains for 20 optimizer steps. $1 is the run folder. The other arguments are
# flags.
train_for_a_moment() {
  "${train}" --config=example.textproto --run="$1" \
    --set training.max_updates=20 --set training.examples_per_epoch=640 "${@:2}"
}

train_for_a_moment run
grep -q lab.my_output run/resolved.textproto
"${train}" --resume --run=run
"${evaluate}" --run=run

# Training with a factor of 1 must give a different model.
train_for_a_moment one --set "${output}.initial=1"
digests="$(grep -ho '"weights_digest":"[0-9a-f]*"' run/status.json one/status.json)"
[[ "$(sort -u <<<"${digests}" | wc -l)" == 2 ]]

# An option outside of its range must be an error.
status=0
"${train}" --config=example.textproto --run=range \
  --set "${output}.initial=11" 2>error || status=$?
[[ "${status}" == 2 ]]
grep -q 'initial: must be in \[-10, 10\], got 11' error
