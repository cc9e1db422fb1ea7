#!/bin/bash
# Computes with trained models in another precision than in training.

source experiments/testing.sh

train="${runfiles}/$1"
translate="${runfiles}/$2"
generate="${runfiles}/$3"
evaluate="${runfiles}/$4"
predict="${runfiles}/$5"
embed="${runfiles}/$6"
configs="${runfiles}/$7"
bert="${runfiles}/$8"

run() { # run NAME ARGUMENT...: trains.
  quietly "${train}" --config="${configs}/phrasebook.textproto" --run="$1" \
    --set 'baseline.override=[]' --set training.epochs=1 \
    --set data.phrasebook.train=300 --set data.phrasebook.dev=5 \
    --set data.phrasebook.test=20 --set data.phrasebook.test_unseen_pairs=20 \
    --set model.encoder.hidden=16 --set model.decoder.hidden=16 "${@:2}"
}
run full
run rounded --set precision=BFLOAT16_PRODUCTS --set keep_float32=encoder
for i in $(seq 60); do echo "Line ${i}: a text in which nothing happens."; done \
  >text
quietly "${train}" --config="${configs}/tiny_shakespeare.textproto" \
  --run=letters --set data.path=text --set training.epochs=1 \
  --set training.examples_per_epoch=640 \
  --set model.language_model.transformer.width=32 \
  --set model.language_model.transformer.layers=1
quietly "${train}" --config="${configs}/grammaticality.textproto" --run=right \
  --set data.grammaticality.train=60 --set data.grammaticality.dev=5 \
  --set data.grammaticality.test=5 --set training.epochs=1 \
  --set 'baseline.override=[]'

shape() { # Replaces each number by N.
  sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/N/g'
}

precisions() { # precisions WHAT COMMAND...: of a model trained in float32
  "${@:2}" --precision=bfloat16 <input >rounded.out
  "${@:2}" --precision=float32 <input >full.out
  "${@:2}" <input >own.out
  expect "$1 as in the training" "$(<full.out)" "$(<own.out)"
  if cmp -s full.out rounded.out; then
    expect "$1 with --precision=bfloat16" 'other numbers' 'the same'
  fi
  expect "$1: lines" "$(wc -l <full.out)" "$(wc -l <rounded.out)"
  fails "$1 in a wrong precision" \
    "error: --precision must be float32 or bfloat16, got 'half'" \
    "${@:2}" --precision=half
}

printf 'they are watching\tils regardent\nthe girl sees a zebra\til mange\n' \
  >input
precisions 'scores' "${translate}" --run=full --score
expect 'a score for each pair' 2 "$(wc -l <rounded.out)"
expect 'the shape of scores' "$(shape <full.out)" "$(shape <rounded.out)"
expect 'scores that are numbers' 0 "$(grep -ci nan rounded.out || true)"
expect 'scores that are close' '' "$(paste full.out rounded.out |
  awk '{ d = $1 - $2; if (d > 0.2 || d < -0.2) print }')"
"${translate}" --run=rounded --score <input >own.out
"${translate}" --run=rounded --score --precision=float32 <input >full.out
if cmp -s own.out full.out; then
  expect 'a rounded run in float32' 'other numbers' 'the same'
fi
# --precision=bfloat16 must keep the exceptions of the config (keep_float32), so
# the results must not change.
"${translate}" --run=rounded --score --precision=bfloat16 <input >rounded.out
expect 'a rounded run in bfloat16' "$(<own.out)" "$(<rounded.out)"
printf 'they are watching\n' >input
"${translate}" --run=full --precision=bfloat16 <input >out
expect 'a translation' 1 "$(wc -l <out)"
"${translate}" --run=full --run=rounded --precision=bfloat16 <input >out
expect 'a translation by two runs' 1 "$(wc -l <out)"

: >input
precisions 'metrics' "${evaluate}" --run=full --json
expect 'the names of metrics' "$(grep -o '"[a-z/_]*":' full.out)" \
  "$(grep -o '"[a-z/_]*":' rounded.out)"
"${evaluate}" --run=rounded --json >own.out
"${evaluate}" --run=rounded --json --precision=bfloat16 >rounded.out
expect 'metrics of a rounded run' "$(<own.out)" "$(<rounded.out)"

# Rounding seldom changes the drawn letter, so the text must be long. After the
# first different letter, the remaining texts differ, too.
letters() { "${generate}" --run=letters --length=20000 "$@" | tr '\n' '#'; }
printf 'Line 1\n' >input
precisions 'texts' letters --temperature=2
characters="$(wc -c <rounded.out)"
expect 'prompt and length' 1 "$((characters == 20006 || characters == 20007))"

cp "${bert}/sentences.txt" input
precisions 'vectors' "${embed}" --model="${bert}"
expect 'the shape of vectors' "$(awk '{ print NF }' full.out)" \
  "$(awk '{ print NF }' rounded.out)"
expect 'vectors of numbers' 0 "$(grep -ci nan rounded.out || true)"
expect 'vectors that are close' '' "$(paste -d ' ' full.out rounded.out |
  awk '{ for (i = 1; i <= 8; ++i) {
    d = $i - $(i + 8)
    if (d > 0.1 || d < -0.1) print NR, i, $i, $(i + 8)
  } }')"

printf 'the dogs sleeps\nthe cat sleeps\n' >input
precisions 'probabilities' "${predict}" --run=right --json
expect 'probabilities of two classes' 4 \
  "$(grep -o '"probability":0\.' rounded.out | wc -l)"
expect 'the shape of predictions' "$(shape <full.out)" "$(shape <rounded.out)"
