#!/bin/bash
# Plans the experiments of this repository and some published models. The
# numbers of parameters of these models must equal the published numbers.

source experiments/testing.sh

plan="${runfiles}/$1"
configs="${runfiles}/$2"
published="${runfiles}/tools/testdata"

count() { # count ARGUMENT...: prints the number of parameters.
  "${plan}" "$@" | awk '$1 == "total" { print $2; exit }'
}

# The corpus of these configs is missing, so the test sets the vocabulary sizes
# of Multi30k.
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
  --set "${gpt}.position_embedding.longest=1024" \
  --set model.language_model.block=4)"

expect 'the width of a parametric Gaussian' 1 \
  "$(count --config="${configs}/nadaraya_watson.textproto")"
phrasebook="${configs}/phrasebook.textproto"
"${plan}" --config="${phrasebook}" --json >out
expect_in out '{"name":"phrasebook","elements":' '"shape":[1,64,128]' \
  '"bytes":{"values":' '"activations":' '"update_flops":' '"updates":'
"${plan}" --config="${phrasebook}" >out
expect_in out decoder.output '[1, 64, 128]' moments activations 'optimizer step' \
  '  steps'
[[ "$(grep -c 'matrix products of' out)" == 0 ]] ||
  expect 'a plan in float32' 'no table of products' 'one'
rounded=(--set precision=BFLOAT16_PRODUCTS)
"${plan}" --config="${phrasebook}" "${rounded[@]}" >out
expect_in out 'matrix products of a forward pass' 'Linear in decoder' \
  'GruSequence in encoder' 'LinearCrossEntropy in '
expect 'products in float32' 0 "$(grep -c '^  float32 ' out || true)"
"${plan}" --config="${phrasebook}" "${rounded[@]}" --set keep_float32=encoder \
  >out
expect 'products of the encoder' "Linear GruSequence in encoder" "$(
  awk '$1 == "float32" { print $4 }' out | sort -r | tr '\n' ' '
)in encoder"
expect 'percentages of all products' 100 "$(
  awk '$1 ~ /^(bfloat16|float32)$/ { sum += $2 } END { printf "%.0f", sum }' out
)"
"${plan}" --config="${phrasebook}" "${rounded[@]}" --set keep_float32=encoder \
  --json >out
expect 'the products of a plan' 'True True' "$(python3 -c '
import json
products = json.load(open("out"))["products"]
encoder = [p for p in products if p["scope"].split("/")[0] == "encoder"]
print(len(encoder) > 1,
      all(p["rounded_flops"] == (0 if p in encoder else p["flops"]) and
          p["flops"] > 0 for p in products))')"
fails 'a pattern without products' \
  "keep_float32[0]: no scope with products matches 'encodr'; did you mean 'encoder'?" \
  "${plan}" --config="${phrasebook}" "${rounded[@]}" --set keep_float32=encodr
expect 'nothing is written' "$(printf 'err\nout')" "$(
  : >err
  ls
)"
wide=(--set model.encoder.hidden=65536)
"${plan}" --config="${phrasebook}" "${wide[@]}" "${sizes[@]}" >out
expect_in out 'too large to measure'

fails_when_full 'a plan' "${plan}" --config="${phrasebook}"
fails_when_full 'help' "${plan}" --help
printf 'a b\nb a\n' >text
cat >tested.textproto <<'END'
data {
  path: "text"
  text { dev_fraction: 0 test_fraction: 1 }
}
model {
  language_model {
    transformer { width: 8 layers: 1 attention { heads: 1 } }
    block: 2
  }
}
END
fails 'data that are all test' 'data: must have at least one training' \
  "${plan}" --config=tested.textproto
fails 'no config' '--config=FILE must name' "${plan}"
fails 'a config that is not there' 'nowhere' "${plan}" --config=nowhere
fails 'a field that is misspelt' 'model.encoder.hiden' \
  "${plan}" --config="${phrasebook}" --set model.encoder.hiden=3
fails 'words for a regression' 'learns from points of a curve, but' \
  "${plan}" --config="${configs}/nadaraya_watson.textproto" "${sizes[@]}"
fails 'a patch that does not divide the images' \
  'model.vision_transformer.patch' \
  "${plan}" --config="${configs}/shapes_vit.textproto" \
  --set model.vision_transformer.patch=5
fails 'a corpus that is not there' 'not-read.txt' \
  "${plan}" --config="${published}/published_gru.textproto"
