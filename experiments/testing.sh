# Shell functions for tests of programs. A test sources this file first, in the
# runfiles directory. Sets ${runfiles} to that directory and changes to an empty
# directory. If an expectation has failed, the test fails at its end. shellcheck
# shell=bash

set -euo pipefail

runfiles="${PWD}"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

failures=0
trap '(($? == 0 && failures == 0)) || exit 1' EXIT

expect() { # expect WHAT WANTED GOT
  if [[ "$3" != "$2" ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

expect_in() { # expect_in FILE PART...
  local part
  for part in "${@:2}"; do
    if ! grep -qF -- "${part}" "$1"; then
      printf 'FAILED: %s lacks: %s\n' "$1" "${part}"
      head -c 3000 "$1"
      failures=$((failures + 1))
    fi
  done
}

quietly() { # quietly COMMAND...: prints its output only if it fails.
  "$@" >log 2>&1 || { cat log; return 1; }
}

fails() { # fails WHAT PART COMMAND...: expects code 2, and PART in stderr.
  local code=0
  "${@:3}" >out 2>err </dev/null || code=$?
  expect "$1: exit code" 2 "${code}"
  expect "$1: standard output" '' "$(<out)"
  expect_in err "$2"
}

fails_when_full() { # fails_when_full WHAT COMMAND...: writes to a full disk.
  local code=0
  "${@:2}" >/dev/full 2>err </dev/null || code=$?
  expect "$1: exit code of a full disk" 1 "${code}"
  expect_in err 'error: cannot write to standard output'
}

first_answer() { # first_answer LINE COMMAND...: leaves its input open.
  local answer=nothing
  mkfifo questions answers
  "${@:2}" <questions >answers 2>/dev/null &
  exec 3>questions 4<answers
  echo "$1" >&3
  read -r -t 60 -u 4 answer || true
  exec 3>&- 4<&-
  wait
  rm questions answers
  echo "${answer}"
}

digest() { # digest RUN: prints the digest of its weights.
  grep -o '"weights_digest":"[0-9a-f]*"' "$1/status.json"
}
