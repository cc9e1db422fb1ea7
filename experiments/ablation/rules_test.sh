#!/bin/bash
# Tests what the build rules produce for small runs. With a folder as argument,
# writes the golden files into it instead: bazel run
# //experiments/ablation:rules_test -- "$PWD/experiments/ablation/testdata"

set -euo pipefail

cd experiments/ablation
failures=0

fail() {
  printf 'FAILED: %s\n' "$1"
  failures=$((failures + 1))
}

# expect_equal WHAT GOLDEN FILE checks that FILE equals the golden file. In
# update mode, it replaces the golden file.
expect_equal() {
  if [[ -n "${update}" ]]; then
    install -m 644 "$(readlink -f "$3")" "${update}/$2"
  elif ! diff -u "testdata/$2" "$3"; then
    fail "$1"
  fi
}

# expect_text WHAT PATTERN TEXT checks that TEXT matches the glob PATTERN.
expect_text() {
  # shellcheck disable=SC2053  # The right side is meant as a pattern.
  if [[ "$3" != $2 ]]; then
    fail "$1"
    printf '  wanted: %s\n  got: %s\n' "$2" "$3"
  fi
}

update="${1:-}"

expect_equal "the report of a grid with failed runs" tiny_grid.md tiny_grid.md
expect_equal "the runs of the grid as CSV" tiny_grid.csv tiny_grid.csv
expect_equal "claims and ours" tiny_claims.md tiny_claims.md
expect_text "the page draws curves with bands" '*"low":\[*' \
  "$(<tiny_grid.html)"
expect_text "and every cell's weights for the same source" \
  '*Side by side: *q + k, learning_rate 0.5*q | k, learning_rate 1*' \
  "$(<tiny_grid.html)"
expect_text "each finished run has a record" 12 "$(wc -l <tiny_grid.cells.jsonl)"

for file in attention.json config.textproto environment.json examples.jsonl \
  failure.txt metrics.jsonl report.html resolved.textproto status.json weights.safetensors \
  baseline/status.json checkpoints/step-3/weights.safetensors; do
  [[ -e "tiny_experiment/${file}" ]] || fail "an experiment leaves ${file}"
done

# Runs of a grid train no baseline, because the grid has its own comparisons.
baseline="$(echo tiny_grid__q___k_2__learning_rate_0p5__seed_0/baseline/*)"
expect_text "a cell trains no baseline" "*/\*" "${baseline}"

# Runs the tools of the actions directly.
cd ../..
scratch="$(mktemp -d "${TEST_TMPDIR:-/tmp}/XXXXXX")"
trap 'rm -rf "${scratch}"' EXIT
tools=experiments/ablation

# A fake trainer that writes few files. The argument code=N sets its exit code.
trainer="${scratch}/trainer"
cat >"${trainer}" <<'END'
#!/bin/bash
code=0
for argument in "$@"; do
  case "${argument}" in
    --run=*) run="${argument#--run=}" ;;
    code=*) code="${argument#code=}" ;;
    best) best=1 ;;
  esac
done
mkdir -p "${run}/checkpoints/step-2" "${run}/checkpoints/step-3"
echo "$@" | sed "s|--run=.*||" >"${run}/config.textproto"
echo '{}' >"${run}/status.json"
if ((code != 0)); then
  echo "step 2: decoder/score: not a number" >&2
  exit "${code}"
fi
for file in environment.json examples.jsonl metrics.jsonl resolved.textproto \
  run.json; do
  echo "${file}" >"${run}/${file}"
done
echo w >"${run}/checkpoints/step-3/weights.safetensors"
[[ -z "${best:-}" ]] || echo best >"${run}/checkpoints/step-3/best.safetensors"
END
chmod +x "${trainer}"

files=""
overrides=""
train() { # train fail|keep OUTPUTS [ARGUMENT...]: sets out and code.
  mkdir -p "$2"
  code=0
  out="$("${tools}/train_as_action" "$2" //some:label "$1" "${files}" \
    "${overrides}" "${trainer}" "${@:3}" 2>&1)" || code=$?
}

train fail "${scratch}/once"
TMPDIR="${scratch}/missing" train fail "${scratch}/twice"
expect_text "success is quiet, and needs no other folder" "0 " "${code} ${out}"
[[ -z "$(find "${scratch}/twice" -name 'scratch*')" ]] ||
  fail "a run takes away what it worked in"
diff -r "${scratch}/once" "${scratch}/twice" || fail "a run repeats its bytes"

train fail "${scratch}/last"
expect_text "the weights are the last ones" w \
  "$(<"${scratch}/last/weights.safetensors")"
expect_text "and other checkpoints are not kept" step-3 \
  "$(ls "${scratch}/last/checkpoints")"
train fail "${scratch}/best" best
expect_text "but for a run that measured others" best \
  "$(<"${scratch}/best/weights.safetensors")"
expect_text "whose last ones are those of its checkpoint" w \
  "$(<"${scratch}/best/checkpoints/step-3/weights.safetensors")"

train fail "${scratch}/failed" code=3
expect_text "a failure fails the action, and says why" \
  "3 //some:label: training ended with exit code 3:*not a number" \
  "${code} ${out}"
train keep "${scratch}/kept" code=3
expect_text "unless it is kept" "0 //some:label:*not a number" "${code} ${out}"
expect_text "with its reason" "step 2: decoder/score: not a number" \
  "$(<"${scratch}/kept/failure.txt")"
train keep "${scratch}/full" code=1
expect_text "a full disk is never kept" \
  "1 //some:label: training ended with exit code 1:*" "${code} ${out}"
[[ ! -e "${scratch}/full/failure.txt" ]] ||
  fail "what is not kept leaves no result"

overrides="${scratch}/overrides"
printf 'rate=2\nname="a b"\n' >"${overrides}"
train fail "${scratch}/overridden" --set seed=1
expect_text "overrides of a file come first" \
  '--set rate=2 --set name="a b" --set seed=1 ' \
  "$(<"${scratch}/overridden/config.textproto")"
overrides=""

files="run.json vocabulary.txt"
train fail "${scratch}/further"
expect_text "a further file that the run lacks fails the action" \
  "1 *the training program did not write vocabulary.txt" "${code} ${out}"

# The real trainer must write the files that the report adds.
real=experiments/train
"${real}" --config="${tools}/testdata/tiny.textproto" --omit_times \
  --set optimizer.learning_rate=0.25 --set seed=2 --run="${scratch}/whole" \
  >/dev/null 2>&1
for file in attention.json report.html status.json metrics.jsonl \
  environment.json resolved.textproto; do
  diff -q "${scratch}/whole/${file}" "${tools}/tiny_experiment/${file}" ||
    fail "cell and report make the ${file} of one training"
done
mkdir -p "${scratch}/reported"
"${tools}/report_as_action" "${scratch}/reported" "${scratch}/kept" false
expect_text "a run that failed has an empty report" 0 \
  "$(wc -c <"${scratch}/reported/report.html")"

# All errors of a grid must be reported before training begins.
plan() { # plan: sets out and code.
  code=0
  out="$("${real}_results" plan "${scratch}/sweep.textproto" \
    "${scratch}/"{a,b}.out 2>&1)" || code=$?
}
cat >"${scratch}/sweep.textproto" <<END
# proto-file: experiments/sweep/sweep.proto
# proto-message: regard.Sweep
config: "${tools}/testdata/tiny.textproto"
axis {
  name: "a"
  value { label: "b" override { path: "model.additve.width" value: "3" } }
  value { label: "c" override { path: "optimizer.learning_rate" value: "-1" } }
}
END
plan
expect_text "a misspelt path fails the plan" \
  "2 arm b:*additve*\^*" "${code} ${out}"
expect_text "and so does a wrong value, at once" "*arm c:*learning_rate*-1*" \
  "${out}"
[[ ! -e "${scratch}/a.out" ]] || fail "a wrong grid has no plan"
sed -i 's/model.additve.width/name/; s/-1/2/' "${scratch}/sweep.textproto"
echo 'metrics: ["test/mse", "dev/los"]' >>"${scratch}/sweep.textproto"
plan
expect_text "a metric that no run has fails the plan" \
  "2 error: metrics=dev/los: the task has no such metric*" "${code} ${out}"
sed -i 's/, "dev.los"//' "${scratch}/sweep.textproto"
plan
expect_text "a plan has the overrides of each arm" \
  "0 baseline.override=*optimizer.learning_rate=2" \
  "${code} ${out}$(<"${scratch}/b.out")"

exit "$((failures > 0))"
