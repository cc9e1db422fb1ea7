#!/bin/bash
# Uses model folders of GPT-2 as scripts do, and fine-tunes one.

source experiments/testing.sh

train="${runfiles}/$1"
generate="${runfiles}/$2"
predict="${runfiles}/$3"
evaluate="${runfiles}/$4"
inspect="${runfiles}/$5"
export="${runfiles}/$8"
cp -rL "${runfiles}/$6" model
cp -rL "${runfiles}/$7" untied
chmod -R u+w model untied

likeliest() { "${generate}" --model=model --top_k=1 --length=8 "$@"; }
likeliest 'the cat' >out
expect 'a text begins with its prompt' 1 "$(grep -c '^the cat' out)"
expect 'what has no model is a run' "$(cat out)" \
  "$("${generate}" --run=model --top_k=1 --length=8 'the cat')"
expect 'predict goes on likewise' "$(cat out)" \
  "the cat$("${predict}" --model=model --length=8 'the cat')"
expect 'an empty prompt begins a text' 0 "$(likeliest '' >/dev/null; echo $?)"
expect 'no length' 'the cat' "$("${generate}" --run=model --length=0 'the cat')"
# Random tokens may not be valid UTF-8, but the output must be.
expect 'characters are whole' 0 "$(for seed in $(seq 20); do
  "${generate}" --run=untied --temperature=100 --length=40 --seed="${seed}" 'a'
done | iconv -f UTF-8 -t UTF-8 >/dev/null; echo $?)"
expect 'what is none is shown' 1 "$("${generate}" --run=untied --seed=1 \
  --temperature=100 --length=40 'a' | grep -c $'\xef\xbf\xbd')"

# Tests beam search, and several prompts at once.
search() { "${generate}" --model=model --length=12 --beam=4 "$@"; }
search --n_best=3 'the cat' $'a\nb' >out
expect 'three texts for each prompt' '3 3' \
  "$(grep -c '^0 ||| the cat' out) $(grep -c $'^1 ||| a\xe2\x86\xb5b' out)"
scores="$(sed 's/.* ||| //' out | head -n 3)"
expect 'the best is the first' "$(sort -gr <<<"${scores}")" "${scores}"
expect 'a beam finds the same alone' "$(search 'the cat'; search ' 12 dogs')" \
  "$(search 'the cat' ' 12 dogs')"
expect 'a beam of one takes the likeliest' "$(likeliest 'the cat')" \
  "$("${generate}" --model=model --length=8 --beam=1 'the cat')"
for i in $(seq 30); do echo "the $((i * i * i))"; done >prompts
expect 'samples are the same alone' \
  "$(while read -r line; do
    "${generate}" --model=model --length=9 --seed=3 -- "${line}"
  done <prompts | sha256sum)" \
  "$("${generate}" --model=model --length=9 --seed=3 <prompts | sha256sum)"
expect 'nothing is repeated' "$("${generate}" --model=model --length=30 \
  --top_k=1 --no_repeat_ngram=1 'the cat')" "$("${generate}" --model=model \
  --length=30 --beam=1 --no_repeat_ngram=1 'the cat')"

# A text must end before a stop string, even if the last token extends beyond
# it.
long() { "${generate}" --model=model --length=30 "$@" 'the cat'; }
whole="$(long --top_k=1)"
for stop in lT_ T _JB; do
  expect "${stop} in a text" 1 "$(grep -cF "${stop}" <<<"${whole}")"
  expect "a text that ${stop} stops" "${whole%%"${stop}"*}" \
    "$(long --top_k=1 --stop=nowhere --stop="${stop}")"
  expect "a beam's text that ${stop} stops" "${whole%%"${stop}"*}" \
    "$(long --beam=1 --stop="${stop}")"
done
fails 'an empty stop string' '--stop must not be empty' likeliest --stop= a
fails 'samples of a beam' 'remove them or --beam' \
  "${generate}" --model=model --beam=2 --seed=1 a
fails 'a penalty of one text' '--length_penalty requires --beam or --n_best' \
  "${generate}" --model=model --length_penalty=0 a
fails 'more than a beam finds' 'must be at most `beam` (2); got 3' \
  "${generate}" --model=model --beam=2 --n_best=3 a

"${inspect}" --run=model --json --target=' sat' 'the cat' >out
expect_in out 'decoder.0.self' '"the'
"${inspect}" --model=model --out=page.html ' the cat' >/dev/null
expect 'a page' 1 "$(grep -c '</html>' page.html)"

# The losses must equal the losses of transformers on the same windows.
for name in model untied; do
  while read -r stride loss; do
    "${evaluate}" --model="${name}" --text="${name}/text.txt" \
      --stride="${stride}" --json >out
    expect "the loss of ${name}, ${stride} apart" '' "$(
      sed 's/.*"test\/loss":\([^,}]*\).*/\1/' out |
        awk '{ d = $1 - '"${loss}"'; if (!($1 > 0 && d * d < 1e-10)) print }')"
  done <"${name}/text_loss.txt"
done
expect_in out '"test/bits_per_character"' '"test/perplexity"'
expect 'blocks do not overlap' \
  "$("${evaluate}" --model=model --text=model/text.txt --stride=48)" \
  "$("${evaluate}" --model=model --set data.path=model/text.txt)"
loss_of() { # loss_of FLAG...: prints the loss of a text.
  "${evaluate}" --model=model --text=model/text.txt "$@" --json |
    grep -o '"test/loss":[^,}]*' | sed -n 1p
}
expect 'all of a head' "$(loss_of)" \
  "$(loss_of --set "intervene={site: '*/context' head: 0 replace {scale: 1}}")"
[[ "$(loss_of)" != "$(loss_of --set \
  "intervene={site: '*/context' head: 0 replace {zeros {}}}")" ]] ||
  expect 'nothing of a head' other same
fails 'a head that is not there' 'intervene[0].head' "${evaluate}" --model=model \
  --text=model/text.txt --set "intervene={site: '*/context' head: 9 replace {scale: 1}}"
fails 'a mean of no examples' 'intervene[0].replace.mean: requires training' \
  "${evaluate}" --model=model --text=model/text.txt \
  --set "intervene={site: '*/context' replace {mean {}}}"
fails 'a stride over a block' 'error: --stride: ' \
  "${evaluate}" --model=model --text=model/text.txt --stride=49
fails 'another field of a model' 'only fields of data, search and intervene can be' \
  "${evaluate}" --model=model --set model.language_model.block=4

fails 'no text' 'error: data.path names no text file' "${evaluate}" --run=model

# A model that was exported and read again must generate the same text.
"${export}" --run=model copy >/dev/null
expect 'the copy' "$(likeliest 'the cat')" \
  "$("${generate}" --run=copy --top_k=1 --length=8 'the cat')"

# Training can begin with the folder, and the run can be exported. Fields of the
# model that the config does not set are taken from the folder.
cp model/text.txt .
cat >tuned.textproto <<'END'
# proto-file: experiments/experiment.proto
# proto-message: regard.Experiment
data { path: "text.txt" text { dev_fraction: 0.4 } }
model { language_model { block: 24 transformer { dropout: 0 } } }
training {
  epochs: 4
  batch_size: 4
  initial_weights { run: "model" }
}
optimizer { adam {} learning_rate: 0.01 }
END
quietly "${train}" --config=tuned.textproto --run=same --set training.epochs=0
expect 'the weights of the folder' "$(likeliest 'the cat')" \
  "$("${generate}" --run=same --top_k=1 --length=8 'the cat')"
expect_in same/resolved.textproto 'width: 8  # model, as a config:' \
  'block: 24  # tuned.textproto:4' 'dropout: 0  # tuned.textproto:4' \
  'embedding_dropout: 0.1  # model, as a config:' 'unit: BYTE_PAIRS'
quietly "${train}" --config=tuned.textproto --run=tuned
mv model gone
# The run must keep its tokenizer.
"${export}" --run=tuned written >/dev/null
expect 'what was written is the run' \
  "$("${generate}" --run=tuned --top_k=1 --length=20 'the cat' | sha256sum)" \
  "$("${generate}" --run=written --top_k=1 --length=20 'the cat' | sha256sum)"
fails 'no folder' 'model is neither a run folder, which has run.json' \
  "${train}" --config=tuned.textproto --run=none
mv gone model
# Another score adds parameters, which the folder lacks.
"${train}" --config=tuned.textproto --run=added --set training.epochs=0 \
  --set 'model.language_model.transformer.attention.attention={additive {}}' \
  >/dev/null 2>err
expect_in err "model has no 'layers.0.attention.score.w_q', which starts from"
fails 'no GPT-2' 'additive' "${export}" --run=added bad
fails 'other sizes' 'expected' "${train}" --config=tuned.textproto --run=none \
  --set model.language_model.transformer.feed_forward.hidden=33
sed 's/^model .*/model { transformer {} }/' tuned.textproto >translates.textproto
fails 'another model' "training.initial_weights.run: has no weights \
for model.transformer, only for model.language_model" \
  "${train}" --config=translates.textproto --run=none
# First takes the whole model from the folder, then only its sizes.
sed '/^model/d' tuned.textproto >whole.textproto
quietly "${train}" --config=whole.textproto --run=whole --set training.epochs=0
expect 'the blocks of the folder' 1 "$(grep -c 'block: 48  # model, as a' \
  whole/resolved.textproto)"
quietly "${train}" --config=tuned.textproto --run=random \
  --set training.epochs=0 --set training.initial_weights.random=true
if [[ "$(digest random)" == "$(digest same)" ]]; then
  expect 'other weights' "not $(digest random)" "$(digest same)"
fi
fails 'sizes of a run' '`random` requires a Hugging Face model folder' "${train}" \
  --config=random/resolved.textproto --run=none \
  --set training.initial_weights.run=random

# An invalid folder must give exit code 2 in every program.
fails 'two models' '--run and --model cannot be given together' \
  "${generate}" --run=model --model=model a
sed -i 's/"n_head": 3/"n_head": 0/' untied/config.json
for program in "${generate}" "${predict}" "${evaluate}" "${inspect}"; do
  fails 'no heads' 'untied/config.json:' "${program}" --run=untied
done
sed -i 's/"n_head": 0/"n_head": 3/' untied/config.json
shard=model-00001-of-00003.safetensors
cp "untied/${shard}" .
sed -i "s/\"${shard}\"/\"..\/${shard}\"/" untied/model.safetensors.index.json
fails 'a file outside' "'../${shard}' must be the name of a file in this folder" \
  "${generate}" --run=untied a
# A header that claims a length of 2 GB must be rejected.
printf '\0\0\0\200\0\0\0\0{' >copy/model.safetensors
fails 'a long header' 'HeaderTooLarge' "${generate}" --run=copy a
