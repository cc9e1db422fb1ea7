#!/bin/bash
# Opens the runs in testdata/old_runs, which commit 96d518c has trained with the
# same config. `finished` is complete. `killed` was killed by SIGKILL after step
# 250, with a checkpoint of step 210. Their report.html and tensorboard/ are
# omitted, because no program reads them. If this test fails, users cannot open
# their old runs, either. Correct the program, never the runs.

source experiments/testing.sh

train="${runfiles}/$1"
translate="${runfiles}/$2"
inspect="${runfiles}/$3"

# Copies the runs, because Bazel's inputs are links to read-only files.
cp -rL --no-preserve=mode "${runfiles}/$4"/{finished,killed} .

expect_usable() { # expect_usable RUN TRANSLATION...
  expect "translations of $1" "$(printf '%s\n' "${@:2}")" \
    "$("${translate}" --run="$1" 'they are watching .' \
      'she is watching .' 'i watched them .' 2>&1)"
  quietly "${inspect}" --run="$1" --source='they are watching .' \
    --target='ils regardent .'
  expect_in log 'ils regardent .' entropy 'alignment error rate' \
    "$1/inspect.html"
  expect_in "$1/inspect.html" '<svg' regardent
}

expect_end() { # expect_end RUN STEP: resumes it at STEP.
  quietly "${train}" --run="$1" --resume
  expect_in log "resuming at step $2" 'Final metrics'
  expect "how $1 stands" '{"state":"finished","step":400' \
    "$(grep -o '^{"state":"[a-z]*","step":[0-9]*' "$1/status.json")"
}

platform() { # platform RUN: prints recorded facts that affect rounding.
  grep -E '"(compiler|instruction_set|eigen)":' "$1/environment.json"
}

translations=('ils regardent .' 'elle est triste .' 'il ne le connaît pas .')
expect_usable finished "${translations[@]}"
expect_usable killed 'elle ne a .' 'le livre est ? .' 'il ne le connaît pas .'

wanted="$(digest finished)"
cp -r finished/checkpoints before
expect_end finished 400
expect 'the digest of a finished run' "${wanted}" "$(digest finished)"
quietly diff -r before finished/checkpoints

expect_end killed 210
quietly "${train}" --config=finished/config.textproto --run=here \
  --set training.epochs=1
if [[ "$(platform here) $(getconf GNU_LIBC_VERSION)" == \
  "$(platform finished) glibc 2.36" ]]; then
  # The resumed run must equal `finished`, which was not interrupted. After an
  # intended change of results, update the digest here.
  expect 'the digest of a killed run' "${wanted}" "$(digest killed)"
  expect_usable killed "${translations[@]}"
else
  echo 'SKIPPED: the digest of a killed run: it began on another platform'
fi
