#!/bin/bash
# Plans shipped and published experiments, and holds the counts against print.

set -euo pipefail

plan="${PWD}/$1"
configs="${PWD}/$2"
published="${PWD}/tools/testdata"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

failures=0
expect() { # expect WHAT WANTED GOT
  if [[ "$3" != "$2" ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}
count() { # count ARGUMENT...: the number of all parameters.
  "${plan}" "$@" | awk '$1 == "all" { print $2; exit }'
}
fails() { # fails WHAT PART ARGUMENT...: exit 2 with PART on standard error.
  local what="$1" part="$2" code=0
  shift 2
  "${plan}" "$@" >out 2>err || code=$?
  expect "${what}: exit code" 2 "${code}"
  expect "${what}: standard output" '' "$(cat out)"
  if ! grep -qF -- "${part}" err; then
    expect "${what}" "${part}" "$(cat err)"
  fi
}

# Vocabularies of Multi30k. The corpus that the configs name is not there, and
# is not asked for.
sizes=(--set 'data={placeholder {source_vocabulary: 7853 target_vocabulary: 5893}}')
expect 'published LSTM' 13,898,501 \
  "$(count --config="${published}/published_lstm.textproto" "${sizes[@]}")"
expect 'published GRU' 14,219,781 \
  "$(count --config="${published}/published_gru.textproto" "${sizes[@]}")"
expect 'published attention' 20,518,405 \
  "$(count --config="${published}/published_attention.textproto" "${sizes[@]}")"

shakespeare="${configs}/tiny_shakespeare.textproto"
gpt=model.language_model.transformer
expect 'nanoGPT on a CPU' 804,096 "$(count --config="${shakespeare}" \
  --set 'data={placeholder_text {vocabulary: 65 characters: 10000}}')"
expect 'GPT-2 small' 124,439,808 "$(count --config="${shakespeare}" \
  --set 'data={placeholder_text {vocabulary: 50257 characters: 100000}}' \
  --set "${gpt}={width: 768 layers: 12 norm {bias: true}}" \
  --set "${gpt}={attention {heads: 12 bias: true} feed_forward {bias: true}}" \
  --set "${gpt}.position_embedding.longest=1024")"

expect 'the width of a parametric Gaussian' 1 \
  "$(count --config="${configs}/nadaraya_watson.textproto")"
phrasebook="${configs}/phrasebook.textproto"
"${plan}" --config="${phrasebook}" >out
for part in decoder.output '[1, 64, 128]' moments activations 'an update' \
  updates; do
  grep -qF -- "${part}" out || expect 'phrasebook' "${part}" "$(cat out)"
done
expect 'nothing is written' "$(printf 'err\nout')" "$(
  : >err
  ls
)"
wide=(--set model.encoder.hidden=65536)
"${plan}" --config="${phrasebook}" "${wide[@]}" "${sizes[@]}" >out
grep -q 'too large to measure' out || expect 'wide' 'too large' "$(cat out)"

fails 'no config' '--config=FILE must name'
fails 'a config that is not there' 'nowhere' --config=nowhere
fails 'a field that is misspelt' 'model.encoder.hiden' \
  --config="${phrasebook}" --set model.encoder.hiden=3
fails 'words for a regression' 'learns from points of a curve, but' \
  --config="${configs}/nadaraya_watson.textproto" "${sizes[@]}"
fails 'a patch that does not divide the images' \
  'model.vision_transformer.patch' --config="${configs}/shapes_vit.textproto" \
  --set model.vision_transformer.patch=5
fails 'a corpus that is not there' 'not-read.txt' \
  --config="${published}/published_gru.textproto"

exit $((failures > 0))
