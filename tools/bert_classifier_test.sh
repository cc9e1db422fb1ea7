#!/bin/bash
# Tests predictions, evaluation, inspection and export of a
# BertForSequenceClassification of transformers, and training from its weights.

source experiments/testing.sh

train="${runfiles}/$1"
predict="${runfiles}/$2"
evaluate="${runfiles}/$3"
inspect="${runfiles}/$4"
bert="${runfiles}/$5"
folder="${runfiles}/$6"
export="${runfiles}/$7"

cut -f 2- "${folder}/pairs.tsv" >pairs
cut -f 1 "${folder}/pairs.tsv" >labels
# Each line of the file has the logits of one pair, and the last line has the
# loss. Finds the class of the largest logit.
awk 'BEGIN { split("entails contradicts unrelated", names) }
  NF == 3 { best = 1; for (i = 2; i <= 3; ++i) if ($i > $best) best = i
    print names[best] }' "${folder}/logits.txt" >classes
"${predict}" --run="${folder}" <pairs >out
expect 'the classes of transformers' "$(cat classes)" "$(cat out)"
right="$(paste labels classes | awk '$1 == $2' | wc -l)"
"${evaluate}" --run="${folder}" --set "data.path=${folder}/pairs.tsv" --json \
  >out
expect 'as many are right' "$(awk "BEGIN { print ${right} / 20 }")" \
  "$(grep -o '"test/accuracy":[0-9.]*' out | head -n 1 | cut -d : -f 2)"
"${inspect}" --run="${folder}" --out=page.html $'the cat\ta dog sings' >out
expect_in page.html '[SEP]' 'entails'
fails 'three texts' 'input 1: expected a text, or two texts separated by a tab; got 2' \
  "${predict}" --run="${folder}" $'a\tb\tc'
printf 'maybe\ta\tb\n' >other.tsv
fails 'a class that it does not know' "the model does not know label 'maybe'" \
  "${evaluate}" --run="${folder}" --set data.path=other.tsv

"${export}" --run="${folder}" written >/dev/null
"${predict}" --run="${folder}" --json <pairs >answers
"${predict}" --run=written --json <pairs >out
expect 'what was written is the run' "$(cat answers)" "$(cat out)"

cat >tuned.textproto <<END
data { labelled_text {} path: "${folder}/pairs.tsv" }
model {
  text_classifier {
    bert {
      transformer {
        attention { attention { dropout: 0 } }
        dropout: 0
      }
      masked_words { block: 16 }
    }
    pooling: POOLER
    dropout: 0
  }
}
training {
  epochs: 0
  batch_size: 4
  initial_weights { run: "${folder}" }
}
optimizer { adam {} learning_rate: 0.01 }
END
"${train}" --config=tuned.textproto --run=same >/dev/null 2>err
expect 'nothing is missing' 0 "$(grep -c 'begins with its' err || true)"
expect_in same/resolved.textproto "width: 8  # ${folder:0:20}" \
  "longest: 32  # ${folder:0:20}" 'block: 16  # tuned.textproto:'
"${predict}" --run=same --json <pairs >out
expect 'the weights of the folder' "$(cat answers)" "$(cat out)"
quietly "${train}" --config=tuned.textproto --run=tuned \
  --set training.epochs=300 --set data.labelled_text.dev_fraction=0
"${export}" --run=tuned tuned_folder >/dev/null
"${predict}" --run=tuned <pairs >out
expect 'pairs that were learned' "$(cat labels)" "$(cat out)"
"${predict}" --run=tuned_folder <pairs >again
expect 'in a folder, too' "$(cat out)" "$(cat again)"

# A classification head for other classes must not be loaded. A BERT without a
# head must be accepted.
sed 's/entails/follows/' "${folder}/pairs.tsv" >renamed.tsv
"${train}" --config=tuned.textproto --run=renamed \
  --set data.path=renamed.tsv >/dev/null 2>err
expect_in err "has no 'classifier.weight' for this task, which starts from its"
"${train}" --config=tuned.textproto --run=headless \
  --set "training.initial_weights.run=${bert}" >/dev/null 2>err
expect_in err "has no 'classifier.bias' for this task, which starts from its"
fails 'other sizes' "tensor 'bert.pooler.dense.bias' is F32 [8]" \
  "${train}" --config=tuned.textproto --run=none \
  --set model.text_classifier.bert.transformer.width=4
sed 's/dog/fox/' "${bert}/vocab.txt" >words.txt
fails 'another vocabulary' 'vocab.txt does not match the data of this' \
  "${train}" --config=tuned.textproto --run=none \
  --set model.text_classifier.bert.masked_words.vocabulary=words.txt
# Token ids depend on lower-casing, so it must match the folder.
lower=model.text_classifier.bert.masked_words.lower_case
fails 'upper case for a folder without' "--set: error: ${lower}: must \
match ${folder}/tokenizer_config.json, with which the weights were trained" \
  "${train}" --config=tuned.textproto --run=none --set "${lower}=false"
cp -rL "${folder}" cased
chmod -R u+w cased
sed -i 's/"do_lower_case": true/"do_lower_case": false/' \
  cased/tokenizer_config.json
fails 'lower case for a folder with upper' 'must match cased/tokenizer_config.json' \
  "${train}" --config=tuned.textproto --run=none --set "${lower}=true" \
  --set training.initial_weights.run=cased
quietly "${train}" --config=tuned.textproto --run=cased_run \
  --set training.initial_weights.run=cased
expect 'the case of the folder' 1 \
  "$(grep -c 'lower_case: false' cased_run/resolved.textproto)"

# Training of other kinds of models can begin with the same folders, with or
# without vocab.txt.
cat >words.textproto <<END
data { text { dev_fraction: 0 test_fraction: 0 } path: "words.tsv" }
model { bert { masked_words { block: 12 } } }
training { epochs: 0 initial_weights { run: "${bert}" } }
END
cut -f 2 "${folder}/pairs.tsv" >words.tsv
"${train}" --config=words.textproto --run=words >/dev/null 2>err
expect_in err "has no 'masked_words.bias', which starts from its initial values"
cat >classes.textproto <<END
base: "words.textproto"
data { labelled_text {} path: "${folder}/pairs.tsv" }
model { text_classifier {} }
END
fails 'another model than that of the base' "classes.textproto:3:9: error: \
model.text_classifier.bert.masked_words.lower_case: must \
match ${bert}/tokenizer_config.json, but the config or its base" \
  "${train}" --config=classes.textproto --run=none
cat >scored.textproto <<END
data { scored_pairs { dev_fraction: 0 test_fraction: 0 } path: "scored.tsv" }
training { epochs: 0 initial_weights { run: "${bert}" } }
END
awk -F '\t' 'NF == 3 { print $2 "\t" $3 "\t" 0.5 }' "${folder}/pairs.tsv" \
  >scored.tsv
quietly "${train}" --config=scored.textproto --run=scored
cp -rL "${bert}" fast
chmod -R u+w fast
python3 - <<'PYTHON'
import json

tokens = open("fast/vocab.txt", encoding="utf-8").read().split("\n")[:-1]
json.dump({"model": {"type": "WordPiece", "vocab": {
    token: i for i, token in enumerate(tokens)}}}, open(
        "fast/tokenizer.json", "w", encoding="utf-8"))
PYTHON
rm fast/vocab.txt
quietly "${train}" --config=scored.textproto --run=fast_run \
  --set training.initial_weights.run=fast
expect 'the tokens of tokenizer.json' "$(cat scored/vocab.txt)" \
  "$(cat fast_run/vocab.txt)"
quietly "${train}" --config=tuned.textproto --run=mean \
  --set model.text_classifier.pooling=MEAN
fails 'what is not POOLER is not written' 'pooling must be POOLER' \
  "${export}" --run=mean none
printf 'a\tb\tc\nb\td\n' >short.tsv
fails 'a column too few' 'short.tsv:2:4: error: expected LABEL<TAB>TEXT' \
  "${train}" --config=tuned.textproto --run=none --set data.path=short.tsv
fails 'pairs without types' 'pairs of texts require types: 2 or more' \
  "${train}" --config=tuned.textproto --run=none \
  --set model.text_classifier.bert.types=1
