#!/bin/bash
# Trains for a moment, then looks at what the model attends to.

source experiments/testing.sh

train="${runfiles}/$1"
inspect="${runfiles}/$2"
config="${runfiles}/$3"
bert="${runfiles}/$4"

small=(--set data.phrasebook.train=600 --set data.phrasebook.dev=10
  --set data.phrasebook.test=10 --set data.phrasebook.test_unseen_pairs=10
  --set training.epochs=2 --set model.encoder.hidden=16
  --set model.decoder.hidden=16)
quietly "${train}" --config="${config}" --run=run "${small[@]}"

# The first pair of every phrasebook, whose alignment is known.
"${inspect}" --run=run --source='They are watching.' \
  --target='ils regardent .' >out 2>err
expect 'no notes' '' "$(cat err)"
expect_in out 'ils regardent .' watching regardent entropy 'log p of the whole' \
  'alignment error rate' 'steepest gain' 'run/inspect.html'
expect_in run/inspect.html '<svg' 'watching' 'regardent' 'alignment error rate' \
  'gradient of each word'
expect 'a page that asks no host' 0 "$(grep -c 'src="http' run/inspect.html)"

# A pair without gold, by the model's own translation; the page elsewhere.
"${inspect}" --run=run 'zebra they' --out=page.html --beam=2 >out 2>err
expect_in err "does not know 'zebra'"
expect_in out 'no gold alignment is known' zebra page.html
expect_in page.html '<svg'

fails_when_full 'a report' "${train}" --run=run --resume
fails_when_full 'an alignment' "${inspect}" --run=run --source=they
fails_when_full 'heads' "${inspect}" --model="${bert}" --source=the
fails 'no run' '--run=DIR must name' "${inspect}" --source=they
fails 'two texts' 'want one text, got 2' \
  "${inspect}" --run=run --source=they watching
fails 'no source' '--source wants 1 to 100 words, got 0' \
  "${inspect}" --run=run
fails 'a long source' 'got 101' \
  "${inspect}" --run=run --source="$(printf 'a %.0s' $(seq 101))"
fails 'an empty target' 'got 0' \
  "${inspect}" --run=run --source=they --target=' '
quietly "${train}" --config="${config}" --run=blind "${small[@]}" \
  --set model.decoder.context=LAST_STATE
fails 'a model without attention' 'does not attend' \
  "${inspect}" --run=blind --source=they

# The heads of a BERT; the page in the working directory.
"${inspect}" --model="${bert}" --source='the cat' >out 2>err
expect 'no notes of a BERT' '' "$(cat err)"
expect_in out '[CLS] the cat [SEP]' entropy inspect.html
expect_in inspect.html '<svg' 'layer 1' '"heads":[{' '[SEP]'
fails 'two models' 'give one of them' \
  "${inspect}" --run=run --model="${bert}" --source=the
fails 'a target of a BERT' '--target and --beam' \
  "${inspect}" --model="${bert}" --source=the --target=the
fails 'no text' 'got 2' "${inspect}" --model="${bert}"
fails 'a long text' 'got 102' \
  "${inspect}" --model="${bert}" --source="$(printf 'a %.0s' $(seq 100))"
fails 'no folder' 'is no folder' "${inspect}" --model=nowhere --source=the
