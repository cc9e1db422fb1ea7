#!/bin/bash
# Lists the scoring functions, where that can be written and where not.

source experiments/testing.sh

scores="${runfiles}/$1"

"${scores}" --query=8 --key=8 >out
expect_in out additive dot location_aware
"${scores}" --json >out
expect_in out '"name":"additive","formula":"' '"parameters":' '"default":'
expect 'one object' 1 "$(wc -l <out)"
fails_when_full 'scores' "${scores}"
fails 'no width' '--query wants a whole number' "${scores}" --query=0
