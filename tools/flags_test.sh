#!/bin/bash
# What each program says of its flags: its --help, and the values that they
# want.

source experiments/testing.sh

flags="${runfiles}/$1"
for program in "${@:2}"; do
  printf '## %s\n' "$(basename "${program}")"
  "${runfiles}/${program}" --help
  # A program may have only switches.
  { "${runfiles}/${program}" --help | grep -o '^  --[a-z_]*=' || true; } |
    tr -d ' ' |
    while read -r flag; do
      # Flags that may be repeated take any text.
      { "${runfiles}/${program}" "${flag}" 2>&1 </dev/null || true; } |
        { grep " ${flag%=} requires " || true; }
    done
  echo
done >said
diff "${flags}" said || expect 'flags' "as in $1" 'others'
