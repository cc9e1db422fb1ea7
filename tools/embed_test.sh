#!/bin/bash
# Computes sentence embeddings with a small model, as scripts do.

source experiments/testing.sh

embed="${runfiles}/$1"
model="${runfiles}/$2"
export="${runfiles}/$3"

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
expect 'any characters' 2 \
  "$(printf '\1\n\0a\001' | "${embed}" --model="${model}" | wc -l)"
expect 'no carriage return' "$("${embed}" --model="${model}" <<<'the cat')" \
  "$(printf 'the cat\r\n' | "${embed}" --model="${model}")"
expect 'many words' 1 \
  "$(yes 'the cat' | head -n 5000 | tr '\n' ' ' |
    "${embed}" --model="${model}" | wc -l)"

printf 'the cat\tThe  CAT\nthe cat\tan old bird\n' |
  "${embed}" --model="${model}" --pairs >out
expect 'pairs' 2 "$(wc -l <out)"
expect 'the same sentence' 1 \
  "$(awk 'NR == 1 && $1 > 0.999999 && $1 < 1.000001' out | wc -l)"
expect 'another sentence' 1 "$(awk 'NR == 2 && $1 < 0.999' out | wc -l)"

# The embedding of a sentence must be written before the next sentence arrives.
expect 'an answer without waiting for more' 8 \
  "$(first_answer 'the cat' "${embed}" --model="${model}" | wc -w)"

# An exported model must give the same embeddings.
"${embed}" --model="${model}" <"${model}/sentences.txt" >out
expect 'where it was written' copy "$("${export}" --model="${model}" copy)"
expect 'the same vectors of a copy' "$(sha256sum <out)" "$(
  "${embed}" --model=copy <"${model}/sentences.txt" | sha256sum)"

for name in euclidean dot cosine; do
  echo "{\"similarity_fn_name\": \"${name}\"}" \
    >copy/config_sentence_transformers.json
  printf 'the cat\tan old bird\n' | "${embed}" --model=copy --pairs \
    >"${name}" 2>"${name}.err"
done
expect_in euclidean.err "copy/config_sentence_transformers.json: similarity_fn_\
name is 'euclidean', but Regard compares texts by cosine similarity"
expect 'the inner product of norm 1 is a cosine' '' "$(cat dot.err cosine.err)"
expect 'cosines' "$(cat cosine cosine)" "$(cat dot euclidean)"
rm copy/config_sentence_transformers.json

fails 'no folder' 'exactly one FOLDER is required, got 0' "${export}" --run="${model}"
fails 'no model' '--run=DIR must name' "${embed}"
fails 'two models' '--run and --model cannot be given together' \
  "${embed}" --model="${model}" --run="${model}"
fails 'no folder' 'nowhere is neither a run folder' "${embed}" --model=nowhere
fails 'an unknown flag' '--moddel' "${embed}" --moddel=copy
sed -i '8s/.*/the/' copy/vocab.txt
truncate -s -4 copy/model.safetensors
fails 'a token twice' 'vocab.txt:8: error: token' "${embed}" --model=copy
fails 'a file that is cut' 'model.safetensors: MetadataIncompleteBuffer' \
  "${embed}" --model=copy
code=0
printf 'a\tb\nthe cat\n' | "${embed}" --model="${model}" --pairs >out 2>err ||
  code=$?
expect 'no pair' '2 1' "${code} $(wc -l <out)"
expect 'which is named' \
  'error: line 2: must be two sentences separated by a tab, as --pairs requires' "$(cat err)"
code=0
{ echo a; yes 'the cat' | head -n 9000 | tr '\n' ' '; } |
  "${embed}" --model="${model}" >out 2>err || code=$?
expect 'a long line is not cut silently' \
  '2 1 error: line 2: must not be longer than 64 KiB' "${code} $(wc -l <out) $(cat err)"
code=0
printf 'a\na c\377at\n' | "${embed}" --model="${model}" >out 2>err || code=$?
expect 'nor are other bytes left out' \
  '2 1 error: line 2: byte 4: the text is not valid UTF-8' \
  "${code} $(wc -l <out) $(cat err)"
code=0
printf 'a\tb\tc\n' | "${embed}" --model="${model}" --pairs >out 2>err || code=$?
expect 'nor are three sentences' \
  '2 error: line 1: must be two sentences separated by a tab, as --pairs requires' "${code} $(cat err)"
code=0
printf 'a\tb\nthe cat\n' | "${embed}" --model="${model}" --pairs >/dev/full \
  2>err || code=$?
expect 'a full disk before a wrong line' \
  '1 error: cannot write to standard output' "${code} $(cat err)"
