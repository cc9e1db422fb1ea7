#!/bin/bash
# Installs Debian's package of the Fashion-MNIST data set, as root or with sudo.
# If neither is possible, prints the command.

set -euo pipefail

package=dataset-fashion-mnist
folder=/usr/share/datasets/fashion-mnist
install=(apt-get install -y --no-install-recommends "${package}")

say() { printf 'fashion_mnist_setup: %s\n' "$*" >&2; }

if [[ -e "${folder}/train-images-idx3-ubyte.gz" ]]; then
  say "${folder} is there"
  exit 0
fi
if [[ "$(id -u)" == 0 ]]; then
  as_root=()
elif type -P sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
  as_root=(sudo)
else
  say "to install ${package}, run as root"
  printf 'apt-get update && %s\n' "${install[*]}" >&2
  exit 2
fi
say "installing ${package}"
"${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update >&2 ||
  say "apt-get update failed; trying with the package lists at hand"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" \
  -o DPkg::Lock::Timeout=300 </dev/null >&2
say "${folder} is there"
