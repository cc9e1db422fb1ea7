#!/bin/bash
# Checks the --help of each program, and the values that its flags require.

source experiments/testing.sh

flags="${runfiles}/$1"
for program in "${@:2}"; do
  printf '## %s\n' "$(basename "${program}")"
  "${runfiles}/${program}" --help
  # A program may have only switches.
  { "${runfiles}/${program}" --help | grep -o '^  --[a-z_]*=' || true; } |
    tr -d ' ' |
    while read -r flag; do
      # Flags that may be repeated accept any text, so they print no
      # requirement.
      { "${runfiles}/${program}" "${flag}" 2>&1 </dev/null || true; } |
        { grep " ${flag%=} requires " || true; }
    done
  echo
done >said
diff "${flags}" said || expect 'flags' "as in $1" 'others'
