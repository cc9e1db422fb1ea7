#!/bin/bash
# Trains a BERT for a few steps. Then trains a classifier that begins with its
# weights.

source experiments/testing.sh

train="${runfiles}/$1"
configs="${runfiles}/$2"

quietly "${train}" --config="${configs}/grammar_masked_words.textproto" \
  --run=words --set training.epochs=1 --set data.grammar.train=300 \
  --set data.grammar.dev=50 --set data.grammar.test=0
expect 'what is measured' 1 "$(grep -c '"dev/unigram_loss":' words/status.json)"

fine=(--config="${configs}/grammaticality.textproto"
  --set training.epochs=0 --set data.grammaticality.test=0)
quietly "${train}" "${fine[@]}" --run=scratch
quietly "${train}" "${fine[@]}" --run=fine \
  --set model.text_classifier.pretrained=words
if [[ "$(digest scratch)" == "$(digest fine)" ]]; then
  expect 'other weights' "not $(digest scratch)" "$(digest fine)"
fi
expect 'the vocabulary of the run' "$(sha256sum <words/vocab.txt)" \
  "$(sha256sum <fine/vocab.txt)"

# Fields that do not affect what the weights compute may differ from the config
# of the BERT.
bert=model.text_classifier.bert
quietly "${train}" "${fine[@]}" --run=free \
  --set model.text_classifier.pretrained=words \
  --set "${bert}.pooler=true" --set "${bert}.masked_words.block=32" \
  --set "${bert}.transformer={dropout: 0.3 embedding_dropout: 0.2}" \
  --set "${bert}.transformer={drop_path: 0.1 recompute: true}" \
  --set "${bert}.transformer={initialization {standard_deviation: 0.5}}" \
  --set "${bert}.transformer.attention.attention.dropout=0.3" \
  --set "${bert}.transformer.feed_forward.dropout=0.3"

refused() { # refused WHAT PART ARGUMENT...
  fails "$1" "$2" "${train}" "${fine[@]}" --run=no "${@:3}"
}
refused 'no run' 'model.text_classifier.pretrained: not a run folder: ' \
  --set model.text_classifier.pretrained=nowhere
refused 'another width' 'transformer.width: 64 -> 32' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.transformer.width=32
# Another number of heads is an error, although the weights have the same
# shapes.
refused 'other heads' 'transformer.attention.heads: 4 -> 2' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.transformer.attention.heads=2
refused 'other tokens' 'masked_words.lower_case: true -> false' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.masked_words.lower_case=false
refused 'two vocabularies' 'bert.masked_words.vocabulary' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.masked_words.vocabulary=words/vocab.txt
refused 'no BERT' 'is not a run of model.bert' \
  --set model.text_classifier.pretrained=scratch
