#!/bin/bash
# Trains small language models, then generates texts as scripts do.

source experiments/testing.sh

train="${runfiles}/$1"
generate="${runfiles}/$2"
configs="${runfiles}/$3"

small=(--set training.epochs=1 --set model.language_model.transformer.width=16
  --set model.language_model.transformer.layers=1)
quietly "${train}" --config="${configs}/grammar_language_model.textproto" \
  --run=lines --set data.grammar.train=200 --set data.grammar.dev=5 \
  --set data.grammar.test=5 "${small[@]}"
for i in $(seq 60); do echo "Line ${i}: a text in which nothing happens."; done \
  >text
quietly "${train}" --config="${configs}/tiny_shakespeare.textproto" \
  --run=blocks --set data.path=text "${small[@]}" \
  --set training.examples_per_epoch=96

# Each text ends where the model ends it, or is truncated.
printf 'the cat\n\nevery dog that\n' | "${generate}" --run=lines >out
expect 'a line for each line' 3 "$(wc -l <out)"
expect 'texts begin with their prompts' 1 "$(grep -c '^every dog that' out)"
expect 'arguments as lines' "$(cat out)" \
  "$("${generate}" --run=lines 'the cat' '' 'every dog that')"
# At a high temperature, any character may be drawn. For at least one of these
# seeds, the end token is drawn.
expect 'a line, be it empty' 99 "$(for seed in $(seq 99); do
  "${generate}" --run=lines --length=1 --temperature=100 --seed="${seed}" ''
done | wc -l)"
expect 'a length' 1 \
  "$(("$("${generate}" --run=lines --length=4 'the cat' | wc -c)" <= 12))"
"${generate}" --run=lines --length=1 --top_k=1 'the cat' 'the' >/dev/null 2>err
expect 'a length that was asked for' '' "$(cat err)"
# A penalty below 1 favours repetition, so the texts never end.
"${generate}" --run=lines --top_k=1 --repetition_penalty=0.01 'the cat' 'the' \
  >/dev/null 2>err
expect 'a length that was not' "note: 2 of 2 texts were cut at 500 tokens (characters,\
 words or subwords); raise the limit with --length=N" "$(cat err)"
expect 'no line in, none out' '' "$("${generate}" --run=lines </dev/null)"

# A model of blocks can continue a text beyond its context of 64 characters.
text() { "${generate}" --run=blocks --length=200 "$@"; }
expect 'the same bits' "$(text 'Line 1' | sha256sum)" \
  "$(text 'Line 1' | sha256sum)"
expect 'the same bits on any threads' "$(text 'Line 1' | sha256sum)" \
  "$(text --threads=3 'Line 1' | sha256sum)"
expect 'seeds differ' 2 "$(for seed in 1 2; do
  text --seed="${seed}" 'Line 1' | sha256sum
done | sort -u | wc -l)"
# The output ends with a newline, unless the last of the 200 characters is one.
characters="$(text 'Line 1' | wc -c)"
expect 'prompt and length' 1 "$((characters == 206 || characters == 207))"
expect 'the likeliest has no seed' "$(text --top_k=1 --seed=1 'Line')" \
  "$(text --top_k=1 --seed=2 'Line')"
expect 'a little probability is the likeliest' "$(text --top_k=1 'Line')" \
  "$(text --top_p=0.000001 'Line')"
"${generate}" --run=blocks --length=9 "$(cat text)" 'Line 1' >/dev/null 2>err
expect 'a prompt that is longer than a block, of a model without an end' \
  'note: 1 of 2 prompts are longer than the 64 ids that the model reads at '\
'once: only the last 32 ids of each are read' "$(cat err)"
expect 'an empty prompt' 0 "$(text '' >/dev/null; echo $?)"

# A text must be written before the next prompt arrives.
expect 'an answer without waiting for more' "$(head -n 1 out)" \
  "$(first_answer 'the cat' "${generate}" --run=lines)"

fails_when_full 'a text' "${generate}" --run=lines the
fails 'no run' '--run=DIR must name' "${generate}" 'the'
fails 'an unknown character' \
  "error: prompt 2, character 5: the model does not know 'Q' (U+0051)" \
  "${generate}" --run=blocks 'Line' 'LineQ'
fails 'bytes that are no text' 'error: prompt 1, byte 3' \
  "${generate}" --run=blocks $'Li\xff'
fails 'a newline in a line' "character 4: the model does not know '\\n'" \
  "${generate}" --run=lines $'the\ncat'
fails 'a negative seed' 'from 0 to 2147483647' \
  "${generate}" --run=blocks --seed=-1 a
fails 'no threads' '--threads' "${generate}" --run=blocks --threads=0 a
fails 'a temperature of nothing' '--temperature' \
  "${generate}" --run=blocks --temperature=0 a
fails 'a probability of nothing' '--top_p' \
  "${generate}" --run=blocks --top_p=0 a
code=0
printf 'the cat\nthe k\303\251\n' | "${generate}" --run=lines >out 2>err ||
  code=$?
expect 'an unknown character in a line' '2 1' "${code} $(wc -l <out)"
expect 'which is named' \
  $'error: line 2, character 6: the model does not know \'\303\251\' (U+00E9)' \
  "$(cat err)"
rm blocks/vocabulary.txt
fails 'a vocabulary that is gone' 'vocabulary.txt' "${generate}" --run=blocks a
rm -r blocks/checkpoints
fails 'no checkpoint' 'no complete checkpoint' "${generate}" --run=blocks a
rm blocks/resolved.textproto
fails 'a config that is gone' 'error: blocks/resolved.textproto: cannot open' \
  "${generate}" --run=blocks a
