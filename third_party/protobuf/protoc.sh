#!/bin/bash
# Runs protoc, then lets generated headers do without the header of the field
# options. A message that uses options needs them when its source is compiled. Its
# header includes them all the same, and with them 12,000 lines of descriptor.pb.h.
# `import option` of newer protobuf, for which this stands in, has the same effect.

set -euo pipefail

"$0.runfiles/com_google_protobuf/bin/protoc" "$@"

options='#include "options/config_options.pb.h"'
folder=
for argument in "$@"; do
  case "${argument}" in
    --cpp_out=*) folder="${argument#--cpp_out=}" ;;
    -*) ;;
    *.proto)
      generated="${folder}/${argument%.proto}.pb"
      # Some arguments are lists of imports, which have no header here.
      if [[ -n "${folder}" ]] && grep -qsxF "${options}" "${generated}.h"; then
        sed -i "\|^${options}\$|d" "${generated}.h"
        sed -i "1i ${options}" "${generated}.cc"
      fi
      ;;
  esac
done
