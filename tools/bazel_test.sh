#!/bin/bash
# Tests tools/bazel and tools/instruction_set, with stubs for every program that
# these scripts start.

set -euo pipefail

script="${PWD}/$1"
packages="${PWD}/$2"
instruction_set="${PWD}/$3"

v2='flags : fpu cx16 popcnt sse4_1 sse4_2 ssse3'
failures=0
expect() { # expect WHAT WANTED GOT: WANTED is a glob pattern.
  # The right side is a pattern.
  if [[ "$3" != $2 ]]; then
    printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

stub() { # stub NAME: makes an executable from standard input.
  { echo '#!/bin/bash'; cat; } >"${bin}/$1"
  chmod +x "${bin}/$1"
}

# Makes a workspace with stubs. By default, the user is root, and the processor
# is from 2013.
setup() {
  root="$(mktemp -d "${TEST_TMPDIR}/XXXXXX")"
  bin="${root}/bin"
  mkdir -p "${root}/ws/tools" "${bin}"
  # Replaces /proc/cpuinfo in the script, because it is not found by PATH.
  sed "s|/proc/cpuinfo|${root}/cpuinfo|" "${instruction_set}" \
    >"${root}/ws/tools/instruction_set"
  cp -L "${script}" "${root}/ws/tools/bazel"
  chmod +x "${root}/ws/tools/bazel" "${root}/ws/tools/instruction_set"
  cp -L "${packages}" "${root}/ws/tools/debian_packages.txt"
  echo "${v2} avx2 bmi1 bmi2 fma f16c abm movbe" >"${root}/cpuinfo"
  stub id <<<'echo 0'
  stub uname <<<'echo x86_64'
  stub bazel <<<'echo "the launcher: would never end"; exit 99'
  stub bazel-4 <<<'echo "${REGARD_PACKAGES}" >packages; echo "bazel:" "$@"'
  stub gcc <<<'echo "gcc (Debian 12.2.0-14) 12.2.0"; echo more'
  stub stat <<<"cat '${root}/changed' 2>/dev/null || echo never"
  stub apt-get <<<"echo \"\$*\" >>'${root}/apt.log'; echo noise"
  stub dpkg-query <<EOT
shift 2
for package in "\$@"; do
  grep -qx "\${package}" '${root}/missing' 2>/dev/null ||
    echo "\$(cat '${root}/status' 2>/dev/null || echo ii) \${package}"
done
EOT
}

# bootstrap SCRIPT [VARIABLE=VALUE]...: runs SCRIPT in the folder ${from} of the
# workspace with the PATH ${only}, and sets out, err and status. `arguments`
# contains the arguments of Bazel.
arguments=(test //...)
bootstrap() {
  status=0
  out="$(cd "${root}/ws/${from:-}" &&
    env -u BAZEL_REAL -u CC PATH="${only:-${bin}:/usr/bin:/bin}" "${@:2}" \
      "$1" "${arguments[@]}" 2>"${root}/err" </dev/null)" || status=$?
  err="$(<"${root}/err")"
}
rc() { # rc LEVEL: prints the rc file of the level.
  cat "${root}/ws/.bazelrc.generated.$1"
}

setup
bootstrap tools/bazel
expect "nothing missing: runs bazel-4 with the rc file and the arguments" \
  "bazel: --bazelrc=*/ws/.bazelrc.generated.x86-64-v3 test //..." "${out}"
expect "nothing missing: quiet" "" "${err}"
expect "v3 machine" "*-march=x86-64-v3 --host_copt=-march=x86-64-v3*" \
  "$(rc x86-64-v3)"
arguments=(--version)
bootstrap tools/bazel
expect "--version is the only argument" "bazel: --version" "${out}"
arguments=(test //...)

echo hi >"${root}/status"
bootstrap tools/bazel
expect "packages on hold are there: quiet" "" "${err}"
rm "${root}/status"

bootstrap tools/bazel
touch -d 2001-01-01 "${root}/ws/.bazelrc.generated.x86-64-v3"
bootstrap tools/bazel
expect "an unchanged rc file is not written again" "2001-*" \
  "$(date -r "${root}/ws/.bazelrc.generated.x86-64-v3" +%F)"

bootstrap tools/bazel REGARD_ISA=x86-64
expect "level from the environment" "*-march=x86-64 --host_copt=*" \
  "$(rc x86-64)"
expect "level from the environment: its own rc file" \
  "bazel: --bazelrc=*/.bazelrc.generated.x86-64 test //..." "${out}"
expect "the other level keeps its rc file" "*-march=x86-64-v3 *" \
  "$(rc x86-64-v3)"

for option in action_env host_action_env; do
  expect "the compiler is part of actions by ${option}" \
    "*build --${option}=REGARD_TOOLCHAIN=gcc__Debian_12.2.0-14__12.2.0_*" \
    "$(rc x86-64-v3)"
done
stub gcc <<<'echo "gcc (Debian 14.2.0-19) 14.2.0"'
bootstrap tools/bazel
expect "another compiler" "*=gcc__Debian_14.2.0-19__14.2.0_*" \
  "$(rc x86-64-v3)"
stub clang-14 <<<'echo "Debian clang version 14.0.6"'
bootstrap tools/bazel CC="${bin}/clang-14"
expect "CC" "*=Debian_clang_version_14.0.6_*" \
  "$(rc "x86-64-v3.${bin//\//_}_clang-14")"
expect "CC does not change the rc file of GCC" "*=gcc__Debian_14.2.0-19_*" \
  "$(rc x86-64-v3)"
echo libc6-dev >"${root}/missing"
without="$(rc x86-64-v3)"
bootstrap tools/bazel
expect "the C library" "${without//_ii_libc6-dev/}" "$(rc x86-64-v3)"
expect "which was there" "*_ii_libc6-dev*" "${without}"
rm "${root}/missing"

expect "packages have not changed" never "$(<"${root}/ws/packages")"
echo now >"${root}/changed"
bootstrap tools/bazel
expect "a package was installed" now "$(<"${root}/ws/packages")"

bootstrap tools/bazel REGARD_ISA=native
expect "a wrong level is refused" 2 "${status}"
expect "a wrong level is named" \
  "instruction_set: REGARD_ISA=native: must be x86-64, *" "${err}"

setup
echo "${v2}" >"${root}/cpuinfo"
bootstrap tools/bazel
expect "old machine" "*-march=x86-64 --host_copt=-march=x86-64*" \
  "$(rc x86-64)"
echo "flags : fpu sse2 ssse3" >"${root}/cpuinfo"
bootstrap tools/bazel
expect "too old a machine" 2 "${status}"
expect "too old a machine: says what it lacks" \
  "instruction_set: requires a processor of level x86-64-v2; this one lacks cx16" \
  "${err}"
echo "${v2} avx2 bmi1 bmi2 fma f16c abm movbe avx512f avx512bw avx512cd" \
  "avx512dq avx512vl" >"${root}/cpuinfo"
bootstrap tools/bazel
expect "v4 machine" "*-march=x86-64-v4 --host*" "$(rc x86-64-v4)"
stub uname <<<'echo aarch64'
bootstrap tools/bazel
expect "no level on other processors" \
  $'# Written by tools/bazel.\nbuild --action_env=*' "$(rc "")"

setup
printf '%s\n' zlib1g-dev g++ >"${root}/missing"
bootstrap tools/bazel
expect "root installs what is missing, after an update" \
  "*update*install*g++ zlib1g-dev*" "$(<"${root}/apt.log")"
expect "says what it installs, hides apt's noise" \
  "tools/bazel: installing g++ zlib1g-dev" "${err}"
expect "goes on to Bazel" "bazel: * test //..." "${out}"

setup
printf '%s\n' cpplint clang-format-14 >"${root}/missing"
bootstrap tools/bazel
expect "a build needs no lint packages" "" "${err}"

setup
echo zlib1g-dev >"${root}/missing"
stub id <<<'echo 1000'
stub sudo <<<'exit 1'
bootstrap tools/bazel
expect "without rights: exits 2" 2 "${status}"
expect "without rights: prints the one line to run" \
  "*apt-get update && apt-get install -y *zlib1g-dev" "${err}"
stub sudo <<<'[[ "$1" != -n ]] || shift; "$@"'
bootstrap tools/bazel
expect "sudo installs" "*install*zlib1g-dev*" "$(<"${root}/apt.log")"

setup
echo zlib1g-dev >"${root}/missing"
stub apt-get <<<'echo "no route to host"; exit 100'
bootstrap tools/bazel
expect "a failed installation exits 2" 2 "${status}"
expect "a failed installation shows why" "*no route to host*" "${err}"

# Makes all programs available, except for dpkg-query and apt-get.
setup
for program in /usr/bin/*; do
  case "${program##*/}" in
    apt-get | dpkg-query) rm "${bin}/${program##*/}" ;;
    *) [[ -e "${bin}/${program##*/}" ]] || ln -s "${program}" "${bin}" ;;
  esac
done
only="${bin}" bootstrap tools/bazel
expect "without dpkg: quiet" "" "${err}"
expect "without dpkg: runs Bazel" "bazel: * test //..." "${out}"
expect "without dpkg: the linker and the C library are part of actions" \
  "*=REGARD_TOOLCHAIN=gcc_*_GNU_ld_*_glibc_*" "$(rc x86-64-v3)"
echo now >"${root}/changed"
stub dpkg-query <<<'exit 1'
only="${bin}" bootstrap tools/bazel
expect "without apt: runs Bazel" "bazel: * test //..." "${out}"
expect "without apt: quiet" "" "${err}"

setup
stub real <<<'echo "real:" "$@"'
bootstrap tools/bazel BAZEL_REAL="${bin}/real"
expect "the launcher's Bazel is used" "real: * test //..." "${out}"
bootstrap tools/bazel BAZEL_REAL=/nonexistent/bazel-9
expect "unless it does not exist" "bazel: * test //..." "${out}"
mkdir "${root}/ws/nn"
from=nn bootstrap ../tools/bazel
expect "works in a sub-folder" "bazel: * test //..." "${out}"

# The workspace of an example has a symbolic link to the bootstrap.
mkdir -p "${root}/example/tools"
ln -s "${root}/ws/tools/bazel" "${root}/example/tools/bazel"
bootstrap "${root}/example/tools/bazel"
expect "a linked bootstrap serves its own workspace" "*-march=x86-64-v3 *" \
  "$(<"${root}/example/.bazelrc.generated.x86-64-v3")"

((failures == 0)) || exit 1
echo "all passed"
