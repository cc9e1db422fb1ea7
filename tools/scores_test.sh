#!/bin/bash
# Lists and checks scores. Tests output that cannot be written.

source experiments/testing.sh

scores="${runfiles}/$1"

"${scores}" --query=8 --key=8 >out
expect_in out additive dot location_aware
"${scores}" --json >out
expect_in out '"name":"additive","formula":"' '"parameters":' '"default":'
expect 'one object' 1 "$(wc -l <out)"
fails_when_full 'scores' "${scores}"
fails 'no width' '--query requires a whole number' "${scores}" --query=0

"${scores}" --formula='v . tanh(W q + U k) - softplus(b) * abs(i - j)' \
    --query=8 --key=4 --heads=2 --width=5 >out
expect_in out 'Parameters: 132' '5 x 8' '5 x 4' 'kept as 5 numbers' \
    'by the additive-score kernel' 'holds  GradientsAgreeWithDifferences' \
    'holds  StepByStepHasTheBitsOfAllAtOnce'
"${scores}" --formula='(W q) . k / sqrt(d)' >out
expect_in out 'one fused kernel' 'holds  InnerFormAgreesWithScoreAndSoftmax'
"${scores}" --formula='q . k / sqrt(d) + b[i - j] - (A x_i) . (B x_j)' \
    --declare='parameter { name: "b" table { lowest: -2 highest: 2 } }' \
    --query=4 --key=4 --heads=2 >out
expect_in out '[-2 .. 2]      10' '4 x 8' 'b[(i - j)]' 'kept as 8 numbers' \
    'holds  GradientsAgreeWithDifferences'
"${scores}" --formula='q . k + b[i - j]' \
    --declare='parameter { name: "b" table { lowest: -2 highest: 2 } }' >out
expect_in out 'one fused kernel'
fails 'a table of nothing' "the range of the indices of 'b' is missing" \
    "${scores}" --formula='q . k + b[i - j]'
fails 'a table without an index' \
    "error: --declare: parameter[0]: 'b' has a table here" \
    "${scores}" --formula='q . k + b' \
    --declare='parameter { name: "b" table {} }'
fails 'what is no field' '--declare:1:1: error' \
    "${scores}" --formula='q . k + b' --declare='parameters {}'
fails 'a declaration of nothing' 'error: --declare applies only to --formula' \
    "${scores}" --declare='parameter {}'
fails 'a wrong formula' "no function 'tan'; did you mean 'tanh'?" \
    "${scores}" --formula='v . tan(W q)'
fails 'its place' '      ^~~' "${scores}" --formula='v . tan(W q)'
fails 'a width of nothing' 'error: --width applies only to --formula' "${scores}" --width=5
fails 'a JSON formula' 'error: --json and --formula cannot be given together' "${scores}" --json --formula=0
