#!/bin/bash
# Checks that the table in a page between "<!-- COMMAND -->" and "<!-- end -->"
# is the table that PROGRAM prints. The last MEASURED columns below the header
# are not compared.
#
#   table_test.sh PROGRAM PAGE COMMAND MEASURED
set -euo pipefail
program="$1" page="$2" command="$3" measured="$4"

unmeasured() {
  local rows column
  rows="$(grep '^|')"
  for ((column = 0; column < measured; ++column)); do
    rows="$(sed -E '1!s/ \| [^|]*\|$/ |/' <<< "${rows}")"
  done
  printf '%s\n' "${rows}"
}

printed="$("${program}" 1 | unmeasured)"
found="$(sed -n "\\#^<!-- ${command} -->\$#,/^<!-- end -->\$/p" "${page}" |
  unmeasured)"
diff <(echo "${found}") <(echo "${printed}") || {
  echo "FAILED: ${page} has another table than ${command} prints"
  exit 1
}
