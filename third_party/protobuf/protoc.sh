#!/bin/bash
# Runs protoc. Then moves the include of the field options from each generated
# header to its source. Only the source needs them, and they include 12,000
# lines of descriptor.pb.h. `import option` of newer protobuf has the same
# effect.

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
      # An argument may also be a list of imports, which has no header here.
      if [[ -n "${folder}" ]] && grep -qsxF "${options}" "${generated}.h"; then
        sed -i "\|^${options}\$|d" "${generated}.h"
        sed -i "1i ${options}" "${generated}.cc"
      fi
      ;;
  esac
done
