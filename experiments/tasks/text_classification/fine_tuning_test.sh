#!/bin/bash
# Trains a BERT for a moment, and a classifier that begins with it.

set -euo pipefail

train="${PWD}/$1"
configs="${PWD}/$2"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

failures=0
expect() { # expect WHAT WANTED GOT
  if [[ "$3" != "$2" ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}
digest() { # digest RUN
  grep -o '"weights_digest":"[0-9a-f]*"' "$1/status.json"
}

"${train}" --config="${configs}/grammar_masked_words.textproto" --run=words \
  --set training.epochs=1 --set data.grammar.train=300 \
  --set data.grammar.dev=50 --set data.grammar.test=0 >log 2>&1 || cat log
expect 'what is measured' 1 "$(grep -c '"dev/unigram_loss":' words/status.json)"

fine=(--config="${configs}/grammaticality.textproto"
  --set training.epochs=0 --set data.grammaticality.test=0)
"${train}" "${fine[@]}" --run=scratch >log 2>&1 || cat log
"${train}" "${fine[@]}" --run=fine \
  --set model.text_classifier.pretrained=words >log 2>&1 || cat log
if [[ "$(digest scratch)" == "$(digest fine)" ]]; then
  expect 'other weights' "not $(digest scratch)" "$(digest fine)"
fi
expect 'the vocabulary of the run' "$(sha256sum <words/vocab.txt)" \
  "$(sha256sum <fine/vocab.txt)"

fails() { # fails WHAT PART ARGUMENT...: exit 2 with PART on standard error.
  local what="$1" part="$2" code=0
  shift 2
  "${train}" "${fine[@]}" --run=no "$@" >out 2>err </dev/null || code=$?
  expect "${what}: exit code" 2 "${code}"
  if ! grep -qF -- "${part}" err; then
    expect "${what}" "${part}" "$(cat err)"
  fi
}
fails 'no run' 'model.text_classifier.pretrained' \
  --set model.text_classifier.pretrained=nowhere
fails 'another width' 'transformer.width: 64 -> 32' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.transformer.width=32
# Weights of the same shapes.
fails 'other heads' 'transformer.attention.heads: 4 -> 2' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.transformer.attention.heads=2
fails 'other tokens' 'masked_words.lower_case: true -> false' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.masked_words.lower_case=false
fails 'two vocabularies' 'bert.masked_words.vocabulary' \
  --set model.text_classifier.pretrained=words \
  --set model.text_classifier.bert.masked_words.vocabulary=words/vocab.txt
fails 'no BERT' 'is no run of model.bert' \
  --set model.text_classifier.pretrained=scratch

exit $((failures > 0))
