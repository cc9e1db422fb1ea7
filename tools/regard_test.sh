#!/bin/bash
# Tests the binary that contains all programs, and the script that starts it in
# a package.

source experiments/testing.sh

launcher="${runfiles}/$1"
regard="${runfiles}/$2"
instruction_set="${runfiles}/$3"
citation="${runfiles}/$4"
predict="${runfiles}/$5"

"${regard}" --help >help
expect_in help 'regard PROGRAM ARGUMENTS...' '  train       trains an experiment'
expect 'purposes' 'Train and compare:
Use a model:
Look inside:
Manage runs:
Examples:' "$(grep ':$' help)"
# Every program in the help must exist and accept its own arguments.
programs=0
while read -r program; do
  programs=$((programs + 1))
  "${regard}" "${program}" --help >help_of
  expect_in help_of '--'
  fails "${program}" 'error: there is no flag --nonesuch' \
    "${regard}" "${program}" --nonesuch
done < <(sed -n 's/^  \([a-z]*\)  .*/\1/p' help)
expect 'number of programs' 17 "${programs}"
fails 'no program' 'error: a program is required' "${regard}"

# A link with the name of a program must run this program.
"${regard}" predict --help >help_of
expect 'the link' "$(<help_of)" "$("${predict}" --help)"
mkdir a_train
for name in predict a_train/lab_predict; do
  ln -s "${regard}" "${name}"
  expect "${name}" "$(<help_of)" "$("./${name}" --help)"
done
fails 'a wrong flag of a link' 'error: there is no flag --nonesuch' \
  ./predict --nonesuch
ln -s "${regard}" a_train/regard
expect 'a directory that is named as a program' "$(<help)" \
  "$(a_train/regard --help)"
ln -s "${regard}" another
expect 'another name' "$(<help_of)" "$(./another predict --help)"
fails 'a wrong program' "error: there is no program 'trian'; did you mean 'train'?" \
  "${regard}" trian
fails 'a wrong flag' 'error: there is no flag --nonesuch' "${regard}" --nonesuch
"${regard}" attend --version >version
expect_in "${citation}" "version: $(sed -n 's/^Regard //p' version)"

# Makes a package in which each program prints its instruction set level.
for level in x86-64 x86-64-v3 x86-64-v4; do
  mkdir -p "package/lib/${level}"
  printf '#!/bin/sh\necho %s "$@"\nexit 3\n' "${level}" \
    >"package/lib/${level}/regard"
done
cp -L "${launcher}" package/regard
cp -L "${instruction_set}" package/lib/instruction_set
chmod -R +x package
ln -s package/regard link
code=0
./link train 'two words' >out || code=$?
expect 'exit code' 3 "${code}"
expect 'the level of the machine' "$("${instruction_set}") train two words" \
  "$(<out)"
expect 'a level by hand' 'x86-64 plan' \
  "$(REGARD_ISA=x86-64 package/regard plan || true)"
fails 'a wrong level' 'REGARD_ISA=i386: must be x86-64, x86-64-v3 or x86-64-v4' \
  env REGARD_ISA=i386 package/regard plan

# The layout in which pip installs the package.
mkdir -p installed/bin installed/lib
cp -r package/lib installed/lib/regard
cp package/regard installed/bin
expect 'installed by pip' "$("${instruction_set}") train two words" \
  "$(installed/bin/regard train 'two words' || true)"

# Removes the highest level from the package.
rm -r package/lib/x86-64-v4
printf '#!/bin/sh\necho "${REGARD_ISA:-x86-64-v4}"\n' >package/lib/instruction_set
expect 'the next lower level' 'x86-64-v3 plan' "$(package/regard plan || true)"
fails 'a level that is not there' 'this package has no programs for x86-64-v4' \
  env REGARD_ISA=x86-64-v4 package/regard plan
rm -r package/lib/x86-64-v3
expect 'the lowest level' 'x86-64 plan' "$(package/regard plan || true)"
rm -r package/lib/x86-64
fails 'no level' 'this package has no programs for x86-64' package/regard plan
