#!/bin/bash
# Trains one run with several processes. The result must be bit-identical to a
# run with one process. If a rank is killed or stopped, or does not match the
# other ranks, there must be one error message.

source experiments/testing.sh

train="${runfiles}/$1"
train_mpi="${runfiles}/$2"
# A config that trains quickly. The test split is decoded in three batches.
config=(--config="${runfiles}/$3" --set num_shards=8 --set data.reverse.train=160
  --set data.reverse.dev=4 --set data.reverse.test=140
  --set model.transformer.width=8 --set model.transformer.attention.heads=2
  --set training.epochs=2 --set training.batch_size=16
  --set training.log_every=2 --set training.checkpoint_every=4
  --set training.early_stopping.metric=dev/loss
  --set optimizer.schedule.cosine.warmup=1)
# A config that trains long enough to be interrupted.
long=("${config[@]}" --set training.epochs=10 --set training.log_every=20)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI leaks memory in plug-ins that are unloaded before the leak check.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
mpirun=(mpirun --oversubscribe)

digest() { grep -o '"weights_digest": *"[0-9a-f]*"' "$1/status.json"; }

same_runs() { # same_runs WHAT RUN RUN
  expect "$1: weights" "$(digest "$2")" "$(digest "$3")"
  local part last
  last="$(basename -a "$2"/checkpoints/step-* | sort -V | tail -n 1)"
  for part in metrics.jsonl examples.jsonl "checkpoints/${last}"; do
    diff -r "$2/${part}" "$3/${part}" || expect "$1: ${part}" same other
  done
}

# Starts ranks in the background. Sets `ranks` to their process ids, in order.
start() { # start NUMBER RUN ARGUMENT...
  "${mpirun[@]}" -n "$1" "${train_mpi}" "${long[@]}" --run="$2" --threads=1 \
    --omit_times "${@:3}" >out 2>err </dev/null &
  job="$!"
  # Waits for any checkpoint, because the run removes the first when it saves
  # the third.
  until compgen -G "$2/checkpoints/step-*" >/dev/null; do
    [[ -e "/proc/${job}" ]] || { cat err; exit 1; }
    sleep 0.02
  done
  # Ignores the exit status 1 of `read`, because the line has no newline.
  read -ra ranks <"/proc/${job}/task/${job}/children" || true
}

ends() { # ends WHAT CODE PART...: PART is in standard error.
  local code=0
  wait "${job}" || code="$?"
  expect "$1: exit code" "$2" "${code}"
  expect_in err "${@:3}"
}

resumes() { # resumes RUN PROGRAM...: expects the uninterrupted result.
  quietly "${@:2}" --run="$1" --resume --omit_times
  same_runs "$1, and resumed" long "$1"
}

refuses() { # refuses WHAT PART ARGUMENT-OF-MPIRUN...
  local code=0
  "${mpirun[@]}" "${@:3}" >out 2>err </dev/null || code="$?"
  expect "$1: exit code" 2 "${code}"
  expect "$1: times told" 1 "$(grep -cF -- "$2" err)"
}

quietly "${train}" "${config[@]}" --run=plain --omit_times
for ranks in 1 2 4 8; do
  for threads in 1 2; do
    run="by${ranks}x${threads}"
    quietly "${mpirun[@]}" -n "${ranks}" "${train_mpi}" "${config[@]}" \
      --run="${run}" --threads="${threads}" --omit_times
    same_runs "${ranks} ranks of ${threads} threads" plain "${run}"
  done
done

# Products with rounded operands give the same bits on each rank, too.
rounded=("${config[@]}" --set precision=BFLOAT16_PRODUCTS
  --set 'keep_float32=decoder/layers[1]')
quietly "${train}" "${rounded[@]}" --run=rounded --omit_times
[[ "$(digest rounded)" != "$(digest plain)" ]] ||
  expect 'rounded weights' 'other weights' 'those in float32'
quietly "${mpirun[@]}" -n 4 "${train_mpi}" "${rounded[@]}" --run=rounded4 \
  --threads=2 --omit_times
same_runs 'rounded products on 4 ranks' rounded rounded4

quietly "${train}" "${long[@]}" --run=long --omit_times
start 2 interrupted
kill -INT "${ranks[1]}"
ends interrupted 130 'with everything saved'
resumes interrupted "${mpirun[@]}" -n 4 "${train_mpi}" --threads=2
# mpirun forwards the signal after a second.
start 2 terminated --set training.epochs=100000
kill -TERM "${job}"
ends terminated 1 'with everything saved'
start 2 killed
kill -KILL "${ranks[1]}"
ends killed 137 'process rank 1' 'on signal 9'
resumes killed "${train}"
start 2 silent
kill -STOP "${ranks[1]}"
ends silent 1 'rank 1 on ' 'has not responded for'
resumes silent "${train}"

refuses 'three ranks' 'error: 3 ranks: ' -n 3 "${train_mpi}" "${config[@]}"
refuses 'too few shards' 'num_shards: is 2, but must be at least 4, the number of' \
  -n 4 "${train_mpi}" "${config[@]}" --set num_shards=2
refuses 'different configs' 'seed: 2 on rank 1, 1 on rank 0' \
  -n 1 "${train_mpi}" "${config[@]}" --set seed=1 : \
  -n 1 "${train_mpi}" "${config[@]}" --set seed=2
refuses 'a wrong config' "no field 'sede'" \
  -n 2 "${train_mpi}" "${config[@]}" --set sede=1
mkdir with without
seq 1 40 | sed 's/.*/&,&/; 1s/^/x,y\n/' >with/points.csv
points=("${train_mpi}" --config="${runfiles}/$4" --set data.path=points.csv)
refuses 'a rank without data' 'rank 1: ' \
  -n 1 -wdir with "${points[@]}" : -n 1 -wdir without "${points[@]}"
sed 's/^7,7$/7,8/' with/points.csv >without/points.csv
refuses 'a rank with other data' 'bytes of data.path: SHA-256 ' \
  -n 1 -wdir with "${points[@]}" : -n 1 -wdir without "${points[@]}"
