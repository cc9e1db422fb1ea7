#!/bin/bash
# Editing a comment must not change the digest of the computing code. Editing
# the code must change it.

source experiments/testing.sh

digest() { # digest FILE
  grep -o '"[0-9a-f]\{64\}"' "${runfiles}/$1"
}
expect 'the digest after a comment was edited' "$(digest "$1")" "$(digest "$2")"
if [[ "$(digest "$1")" == "$(digest "$3")" ]]; then
  expect 'the digest after a kernel was edited' 'another' 'the same'
fi
