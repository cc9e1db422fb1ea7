#!/bin/bash
# Checks the exit codes and messages of the program that plans grids and reports
# on runs.

source experiments/testing.sh

tool="${runfiles}/$1"

check() { # check WHAT CODE STATUS BOUND... <OUTPUT
  local code=0
  "${tool}" check "${@:3}" >out 2>err || code=$?
  expect "$1" "$2 $(cat)" "${code} $(cat out err)"
}

for state in finished failed; do
  printf '{"state":"%s","step":4,"metrics":%s,"weights_digest":""}' "${state}" \
    '{"dev/loss":0.5,"dev/bleu":null}' >"${state}.json"
done

check 'all hold' 0 finished.json 'dev/loss < 1' 'dev/loss == 0.5' <<'END'
state: finished
holds   dev/loss < 1: is 0.5
holds   dev/loss == 0.5: is 0.5
END
check 'not all hold' 1 finished.json \
  'dev/loss > 1' 'dev/bleu < 1' 'test/loss < 1' 'dev/loss <= 1' <<'END'
state: finished
BROKEN  dev/loss > 1: is 0.5
BROKEN  dev/bleu < 1: is nan
BROKEN  test/loss < 1: the run has no such metric
holds   dev/loss <= 1: is 0.5
END
check 'a run that failed' 1 failed.json 'dev/loss < 1' <<'END'
state: failed
holds   dev/loss < 1: is 0.5
END
check 'no bound' 2 finished.json 'dev/loss below 1' <<'END'
state: finished
error: 'dev/loss below 1' is not a bound; write one like 'test/bleu >= 95'
END

cat >claims.textproto <<'END'
claims {
  what: "w" source: "s" experiment: "//:a" metric: "dev/loss" at_most: 1
}
END
"${tool}" claims claims.textproto claims.md //:a=finished.json
expect_in claims.md '| w | s |  | dev/loss <= 1 | 0.5 | confirmed |'
fails 'no status of a label' 'error: expected LABEL=STATUS.json, got //:a' \
  "${tool}" claims claims.textproto other.md //:a
fails 'no file' 'error: ' \
  "${tool}" claims claims.textproto other.md //:a=nowhere.json

printf '# proto-file: experiments/sweep/sweep.proto\n' >sweep.textproto
printf '# proto-message: regard.Sweep\nseed: 1\n' >>sweep.textproto
fails 'no sweep' "sweep.textproto:3:1: error: no field 'seed' in Sweep" \
  "${tool}" plan sweep.textproto a.overrides
fails 'no sweep of a report' "sweep.textproto:3:1: error: no field 'seed'" \
  "${tool}" report sweep.textproto //:a a.md a.csv a.html a.jsonl run
sed -i 's|^seed: 1|config: "nowhere.textproto" axis { path: "name" |' \
  sweep.textproto
printf 'value { set: "a" } value { set: "b" } }\n' >>sweep.textproto
fails 'no config' 'nowhere.textproto' \
  "${tool}" plan sweep.textproto a.overrides b.overrides
fails 'too few folders' 'error: sweep.textproto has 12 runs, but there are 1' \
  "${tool}" report sweep.textproto //:a a.md a.csv a.html a.jsonl run
expect 'no report of it' '' "$(ls a.* other.* 2>/dev/null || true)"

fails 'no arguments' 'usage: train_results' "${tool}"
fails 'too few' 'usage: train_results' "${tool}" check finished.json
fails 'too many' 'usage: train_results' "${tool}" report 1 2 3 4 5
