#!/bin/bash
# Trains with the score for a moment, then translates by that run and inspects it.

set -euo pipefail

train="${PWD}/$1"
translate="${PWD}/$2"
inspect="${PWD}/$3"
cd "${TEST_TMPDIR}"
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY

cat >config.textproto <<'END'
data { phrasebook { train: 600 dev: 10 test: 10 test_apart: 10 } }
model {
  encoder { hidden: 16 }
  decoder { hidden: 16 }
  attention { outside { [lab.my_score] { width: 8 } } }
}
training { epochs: 1 }
END
"${train}" --config=config.textproto --run=run

[[ "$(echo 'they are watching .' | "${translate}" --run=run | wc -l)" == 1 ]]
"${inspect}" --run=run --source='they are watching .' --target='ils regardent .'
[[ -s run/inspect.html ]]
