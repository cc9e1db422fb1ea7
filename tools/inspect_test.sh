#!/bin/bash
# Trains for a moment, then looks at what the model attends to.

set -euo pipefail

train="${PWD}/$1"
inspect="${PWD}/$2"
config="${PWD}/$3"
bert="${PWD}/$4"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

failures=0
expect() { # expect WHAT WANTED GOT
  if [[ "$3" != "$2" ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}
expect_in() { # expect_in FILE PART...
  local file="$1" part
  shift
  for part in "$@"; do
    if ! grep -qF -- "${part}" "${file}"; then
      printf 'FAILED: %s lacks: %s\n' "${file}" "${part}"
      head -c 3000 "${file}"
      failures=$((failures + 1))
    fi
  done
}

small=(--set data.phrasebook.train=600 --set data.phrasebook.dev=10
  --set data.phrasebook.test=10 --set data.phrasebook.test_apart=10
  --set training.epochs=2 --set model.encoder.hidden=16
  --set model.decoder.hidden=16)
"${train}" --config="${config}" --run=run "${small[@]}" >log 2>&1

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
"${inspect}" --run=run --source='zebra they' --out=page.html --beam=2 >out 2>err
expect_in err "does not know 'zebra'"
expect_in out 'no gold alignment is known' zebra page.html
expect_in page.html '<svg'

fails() { # fails WHAT PART ARGUMENT...: exit 2 with PART on standard error.
  local what="$1" part="$2" code=0
  shift 2
  "${inspect}" "$@" >out 2>err || code=$?
  expect "${what}: exit code" 2 "${code}"
  expect_in err "${part}"
}
fails 'no run' '--run=DIR must name' --source=they
fails 'no source' '--source wants 1 to 100 words, got 0' --run=run
fails 'a long source' 'got 101' --run=run --source="$(printf 'a %.0s' $(seq 101))"
fails 'an empty target' 'got 0' --run=run --source=they --target=' '
"${train}" --config="${config}" --run=blind "${small[@]}" \
  --set model.decoder.context=LAST_STATE >log 2>&1
fails 'a model without attention' 'does not attend' --run=blind --source=they

# The heads of a BERT; the page in the working directory.
"${inspect}" --model="${bert}" --source='the cat' >out 2>err
expect 'no notes of a BERT' '' "$(cat err)"
expect_in out '[CLS] the cat [SEP]' entropy inspect.html
expect_in inspect.html '<svg' 'layer 1' 'head 1' '[SEP]'
fails 'two models' 'give one of them' --run=run --model="${bert}" --source=the
fails 'a target of a BERT' '--target and --beam' --model="${bert}" --source=the \
  --target=the
fails 'no text' 'got 2' --model="${bert}"
fails 'a long text' 'got 102' --model="${bert}" \
  --source="$(printf 'a %.0s' $(seq 100))"
fails 'no folder' 'is no folder' --model=nowhere --source=the

exit $((failures > 0))
