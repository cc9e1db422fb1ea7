#!/bin/bash
# Embeds sentences as scripts do, with a small model.

set -euo pipefail

embed="${PWD}/$1"
model="${PWD}/$2"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

failures=0
expect() { # expect WHAT WANTED GOT
  if [[ "$3" != "$2" ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

"${embed}" --model="${model}" <"${model}/sentences.txt" >out
expect 'a line for each line' 10 "$(wc -l <out)"
expect 'numbers of a line' 8 "$(head -n 1 out | wc -w)"
expect 'nothing but numbers' 0 "$(grep -cv '^[-+0-9.e ]*$' out)"
expect 'the numbers of transformers' '' "$(paste -d ' ' out \
  "${model}/vectors.txt" | awk '{
    for (i = 1; i <= 8; ++i) {
      d = $i - $(i + 8)
      if (d > 1e-5 || d < -1e-5) print NR, i, $i, $(i + 8)
    }
  }')"
expect 'the same bits alone' "$(sed -n 2p out)" \
  "$(sed -n 2p "${model}/sentences.txt" | "${embed}" --model="${model}")"
expect 'the same bits on any threads' "$(sha256sum <out)" "$(
  "${embed}" --model="${model}" --threads=3 <"${model}/sentences.txt" |
    sha256sum)"
expect 'the same bits of one line on any threads' \
  "$("${embed}" --model="${model}" --threads=1 <<<'the cat')" \
  "$("${embed}" --model="${model}" --threads=3 <<<'the cat')"
expect 'no line in, none out' '' "$("${embed}" --model="${model}" </dev/null)"
expect 'any bytes' 2 \
  "$(printf '\377\n\0a\001' | "${embed}" --model="${model}" | wc -l)"
expect 'many words' 1 \
  "$(yes 'the cat' | head -n 5000 | tr '\n' ' ' |
    "${embed}" --model="${model}" | wc -l)"

printf 'the cat\tThe  CAT\nthe cat\tan old bird\n' |
  "${embed}" --model="${model}" --pairs >out
expect 'pairs' 2 "$(wc -l <out)"
expect 'the same sentence' 1 \
  "$(awk 'NR == 1 && $1 > 0.999999 && $1 < 1.000001' out | wc -l)"
expect 'another sentence' 1 "$(awk 'NR == 2 && $1 < 0.999' out | wc -l)"

# A sentence is answered before the next one comes.
mkfifo sentences vectors
"${embed}" --model="${model}" <sentences >vectors &
exec 3>sentences 4<vectors
echo 'the cat' >&3
answer=nothing
read -r -t 60 -u 4 answer || true
expect 'an answer without waiting for more' 8 "$(wc -w <<<"${answer}")"
exec 3>&- 4<&-
wait

# What is written is read again.
"${embed}" --model="${model}" --save=copy <"${model}/sentences.txt" >out
expect 'the same vectors of a copy' "$(sha256sum <out)" "$(
  "${embed}" --model=copy <"${model}/sentences.txt" | sha256sum)"

fails() { # fails WHAT PART ARGUMENT...: exit 2 with PART on standard error.
  local what="$1" part="$2" code=0
  shift 2
  "${embed}" "$@" >out 2>err </dev/null || code=$?
  expect "${what}: exit code" 2 "${code}"
  expect "${what}: standard output" '' "$(cat out)"
  if ! grep -qF -- "${part}" err; then
    expect "${what}" "${part}" "$(cat err)"
  fi
}
fails 'no model' '--model=DIR must name'
fails 'no folder' 'is no folder' --model=nowhere
fails 'an unknown flag' '--moddel' --moddel=copy
sed -i '8s/.*/the/' copy/vocab.txt
truncate -s -4 copy/model.safetensors
fails 'a token twice' 'vocab.txt:8: error: token' --model=copy
fails 'a file that is cut' 'model.safetensors: MetadataIncompleteBuffer' \
  --model=copy
code=0
printf 'a\tb\nthe cat\n' | "${embed}" --model="${model}" --pairs >out 2>err ||
  code=$?
expect 'no pair' '2 1' "${code} $(wc -l <out)"
expect 'which is named' \
  'error: line 2 is not two sentences separated by a tab' "$(cat err)"

exit $((failures > 0))
