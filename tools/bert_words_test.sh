#!/bin/bash
# Tests predictions, evaluation and inspection of a BertForPreTraining of
# transformers, and training from its weights.

source experiments/testing.sh

train="${runfiles}/$1"
predict="${runfiles}/$2"
evaluate="${runfiles}/$3"
inspect="${runfiles}/$4"
embed="${runfiles}/$5"
export="${runfiles}/$6"
folder="${runfiles}/$7"

"${predict}" --run="${folder}" <"${folder}/masked.txt" >words
expect 'a text for each' "$(wc -l <"${folder}/masked.txt")" "$(wc -l <words)"
expect 'no [MASK] is left' 0 "$(grep -c '\[MASK\]' words || true)"
expect_in words 'Café ' $'a bird\t'
expect 'no special tokens' 0 "$(grep -c SEP words || true)"
# If the first of the two logits is larger, the second text follows the first.
tail -n "$(wc -l <"${folder}/pairs.txt")" "${folder}/logits.txt" |
  awk '{ print ($1 >= $2 ? "follows" : "does not follow") }' >wanted
expect 'pairs' "$(cat wanted)" \
  "$("${predict}" --run="${folder}" <"${folder}/pairs.txt")"
fails 'nothing to fill in' 'or a pair separated by a tab; got' \
  "${predict}" --run="${folder}" 'the cat'
fails 'three texts' 'got 2 tabs' "${predict}" --run="${folder}" $'a\tb\tc'
"${inspect}" --run="${folder}" $'the cat\tsings' --out=pair.html >out
expect_in out '[CLS]'
"${inspect}" --run="${folder}" 'the [MASK] sings' --out=page.html >out
expect_in out '[MASK]'
expect 'vectors' 8 "$("${embed}" --run="${folder}" <<<'the cat' | wc -w)"

printf '%s\n' 'the cat sings.' 'a bird sleeps.' '' 'the dogs see.' \
  'who sings?' 'that old bird' >text
"${evaluate}" --run="${folder}" --set data.path=text --json >out
expect_in out '"test/loss"' '"test/token_accuracy"' '"test/next_sentence_loss"'
expect 'no words of a training' 0 "$(grep -c unigram out || true)"
fails 'no text' 'error: data.path names no text file' "${evaluate}" --run="${folder}"

# Fields that the config does not set are taken from the folder.
cat >tuned.textproto <<CONFIG
# proto-file: experiments/experiment.proto
# proto-message: regard.Experiment
data { text { dev_fraction: 0.3 } path: "text" }
model { bert {} }
optimizer { sgd {} learning_rate: 0.01 }
training { epochs: 0 batch_size: 2 initial_weights { run: "${folder}" } }
CONFIG
"${train}" --config=tuned.textproto --run=same >/dev/null 2>err
expect 'nothing begins anew' 0 "$(grep -c 'initial values' err || true)"
expect 'the words of the folder' "$(cat words)" \
  "$("${predict}" --run=same <"${folder}/masked.txt")"
expect_in same/resolved.textproto 'next_sentence: true  # '
"${export}" --run=same both
expect 'what was written' "$(cat words)" \
  "$("${predict}" --run=both <"${folder}/masked.txt")"
expect_in both/config.json BertForPreTraining
quietly "${train}" --config=tuned.textproto --run=tuned --set training.epochs=2
"${export}" --run=tuned tuned_folder
expect 'what was learned' "$("${predict}" --run=tuned 'the [MASK] sings' --json)" \
  "$("${predict}" --run=tuned_folder 'the [MASK] sings' --json)"

# Trains a model without next-sentence prediction.
quietly "${train}" --config=tuned.textproto --run=words_only \
  --set model.bert.masked_words.next_sentence=false
"${export}" --run=words_only masked
expect_in masked/config.json BertForMaskedLM
answers() { # answers RUN
  grep -v $'\t' "${folder}/masked.txt" | "${predict}" --run="$1"
}
expect 'the words alone' "$(answers "${folder}")" "$(answers masked)"

# A BertForNextSentencePrediction is a classifier of pairs.
cp -rL "${folder}" follows
chmod -R u+w follows
sed -i 's/BertForPreTraining/BertForNextSentencePrediction/' follows/config.json
choices() { # choices RUN
  "${predict}" --run="$1" --json <"${folder}/pairs.txt" | grep -o '"choices".*'
}
expect 'the probabilities of pairs' "$(choices "${folder}")" "$(choices follows)"
"${export}" --run=follows classes_of_pairs >/dev/null
expect 'written with them' "$(cat wanted)" \
  "$("${predict}" --run=classes_of_pairs <"${folder}/pairs.txt")"

# A classifier can begin with the encoder and the pooler of the folder.
printf '%s\n' $'x\tthe cat' $'y\ta bird' $'x\tthe dog' $'y\tbirds' >labelled
cat >classes.textproto <<CONFIG
data { labelled_text { dev_fraction: 0 } path: "labelled" }
model { text_classifier { pooling: POOLER } }
training { epochs: 0 initial_weights { run: "${folder}" } }
CONFIG
"${train}" --config=classes.textproto --run=classes >/dev/null 2>err
expect 'only the classes begin anew' 2 "$(grep -c 'initial values' err)"
expect_in err "has no 'classifier.weight' for this task"
