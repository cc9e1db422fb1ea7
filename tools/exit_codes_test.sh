#!/bin/bash
# Tests each exit code in the table of tools/README.md.

source experiments/testing.sh

readme="${runfiles}/$1"
train="${runfiles}/$2"
config="${runfiles}/$3"
embed="${runfiles}/$4"
model="${runfiles}/$5"
compare="${runfiles}/$6"
scores="${runfiles}/$7"
attend="${runfiles}/$8"
run_programs=("${@:9}")
programs=("${train}" "${embed}" "${compare}" "${scores}" "${attend}")
for program in "${run_programs[@]}"; do programs+=("${runfiles}/${program}"); done

seen=()
ends() { # ends CODE WHAT PART COMMAND...: PART is in standard error.
  local code=0
  "${@:4}" >out 2>err </dev/null || code=$?
  expect "$2" "$1" "${code}"
  [[ -z "$3" ]] || expect_in err "$3"
  seen+=("$1")
}

small=(--threads=1 --omit_times --config="${config}" --set data.reverse.train=64
  --set data.reverse.dev=8 --set data.reverse.test=8 --set training.epochs=1
  --set model.transformer.width=8 --set model.transformer.attention.heads=2)
ends 0 'a training' '' "${train}" "${small[@]}" --run=run
for program in "${programs[@]}"; do
  name="$(basename "${program}")"
  ends 0 "${name}: help" '' "${program}" --help
  ends 2 "${name}: no such flag" 'error: there is no flag --nonesuch' \
    "${program}" --nonesuch
  fails_when_full "${name}: help" "${program}" --help
done
for program in "${run_programs[@]}"; do
  # `plan` requires a config instead of a run.
  flag=--run=nowhere
  [[ "${program}" != */plan ]] || flag=--config=nowhere
  ends 2 "${program}: no such input" 'error: ' "${runfiles}/${program}" "${flag}"
done

# Exit codes if output cannot be written.
touch file
ends 1 'a run in a folder that cannot be made' 'cannot create the directory' \
  "${train}" "${small[@]}" --run=/proc/nowhere/run
ends 1 'a page where no file can be made' 'cannot' \
  "${runfiles}/tools/inspect" --run=run --source='1 2' --out=/proc/page.html
ends 1 'an export to a folder that cannot be made' 'cannot' \
  "${runfiles}/tools/export" --model="${model}" /proc/nowhere/copy
ends 2 'a run where a file is' 'is not a directory' \
  "${train}" "${small[@]}" --run=file

# Exit code if a required program is missing.
printf 'a b c\nd e f\n%.0s' {1..40} >source
printf 'A B C\nD E F\n%.0s' {1..40} >target
pairs=(--threads=1 --set 'data={pairs {train {source: "source" target: "target"}
  dev_sample: 4 subwords {vocabulary_size: 20}}}')
ends 1 'no program that trains subwords' 'spm_train, which is not installed' \
  env PATH=/nowhere "${train}" --config="${config}" "${pairs[@]}" --run=pairs

# Exit code 3 if the loss diverges, also after resuming.
ends 3 'a loss that diverges' 'step ' "${train}" "${small[@]}" \
  --set training.epochs=400 --set 'optimizer={adam {} learning_rate: 1e6}' \
  --run=diverged
expect 'its status' '"state":"failed"' \
  "$(grep -o '"state":"[a-z]*"' diverged/status.json)"
ends 3 'and diverges again' 'step ' "${train}" --resume --run=diverged

set -m # otherwise, the children would ignore SIGINT
for ending in INT:130 TERM:143; do
  signal="${ending%:*}"
  "${train}" "${small[@]}" --set training.epochs=1000000 --run="${signal}" \
    >out 2>err </dev/null &
  while [[ ! -s "${signal}/metrics.jsonl" ]]; do sleep 0.05; done
  kill "-${signal}" "$!"
  code=0
  wait "$!" || code=$?
  expect "SIG${signal}" "${ending#*:}" "${code}"
  seen+=("${code}")
done

expect 'the codes of the table' "$(printf '%s\n' "${seen[@]}" | sort -un)" \
  "$(sed -n '/^## Exit codes/,/^## tools/s/^| \([0-9, ]*\) |.*/\1/p' \
    "${readme}" | tr -s ', ' '\n\n' | sort -un)"
