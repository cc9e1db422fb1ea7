#!/bin/bash
# Runs tools/ablate with a stand-in for Bazel: what it writes, and what it refuses.

set -euo pipefail

script="${PWD}/$1"
root="$(realpath "$(mktemp -d "${TEST_TMPDIR}/XXXXXX")")"
mkdir -p "${root}/ws/tools" "${root}/elsewhere/texts"
cp -L "${script}" "${root}/ws/tools/ablate"
cat >"${root}/ws/tools/bazel" <<'EOT'
#!/bin/bash
echo "bazel $*"
[[ "$*" != *"${BROKEN:-nothing}" ]]
EOT
chmod +x "${root}/ws/tools/bazel"
cd "${root}/elsewhere"
echo "a b" >corpus.txt
echo "c d" >texts/corpus.txt
cat >base.textproto <<'EOT'
name: "corpus.txt"  # no path: "corpus.txt"
data { path: "corpus.txt" }
EOT
echo 'base: "base.textproto"' >small.textproto

failures=0
expect() { # expect WHAT WANTED GOT
  [[ "$3" == "$2" ]] && return
  printf 'FAILED: %s\n  wanted: %s\n  got: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
ablate() { # sets code, out, err
  code=0
  out="$("${root}/ws/tools/ablate" "$@" 2>"${root}/err")" || code=$?
  err="$(<"${root}/err")"
}

ablate --config=small.textproto --seeds=3 --set training.epochs=2 \
  --axis 'model.attention={dot {}},{additive { width: 8, }}' \
  --axis data.path=corpus.txt,texts/corpus.txt \
  --axis 'model.note="a,b",[1, 2],(c,d)'
expect "exit code" 0 "${code}"
lab="${root}/ws/lab/small"
expect "paths of the report" "${root}/ws/bazel-bin/lab/small/small.md
${root}/ws/bazel-bin/lab/small/small.csv
${root}/ws/bazel-bin/lab/small/small.html" "${out}"
expect "checks before it trains" "wrote lab/small
bazel build //experiments:train
bazel build //lab/small:small_check
bazel build //lab/small:small" "${err}"
expect "BUILD" '# Written by tools/ablate, which overwrites it.

load("//experiments:defs.bzl", "ablation")

ablation(
    name = "small",
    axes = {
        "model.attention": [
            {"label": "dot", "overrides": ["model.attention={dot {}}"]},
            {"label": "additive { width: 8, }", "overrides": ["model.attention={additive { width: 8, }}"]},
        ],
        "data.path": [
            {"label": "corpus.txt", "overrides": ["data.path=lab/small/links/corpus.txt"]},
            {"label": "texts/corpus.txt", "overrides": ["data.path=lab/small/links/1_corpus.txt"]},
        ],
        "model.note": [
            {"label": "a,b", "overrides": ["model.note=\"a,b\""]},
            {"label": "[1, 2]", "overrides": ["model.note=[1, 2]"]},
            {"label": "(c,d)", "overrides": ["model.note=(c,d)"]},
        ],
    },
    base = "small.textproto",
    data = glob(["*.textproto", "links/**"]),
    overrides = [
        "training.epochs=2",
    ],
    results = "lab/small",
    seeds = 3,
    tags = ["manual"],
)' "$(<"${lab}/BUILD")"
expect "base with a link in place of the corpus" \
  'name: "corpus.txt"  # no path: "corpus.txt"
data { path: "lab/small/links/corpus.txt" }' "$(<"${lab}/base.textproto")"
expect "linked corpora" "a b
c d" "$(cat "${lab}/links/corpus.txt" "${lab}/links/1_corpus.txt")"

axis=(--axis seed_less=1,2)
mkdir pictures tokenizer
echo a.png >pictures/list.txt
echo picture >pictures/a.png
echo 'model { language_model { tokens { folder: "tokenizer" } } }' >plain.txt
ablate --config=plain.txt "${axis[@]}" \
  --set data.captions.list=pictures/list.txt \
  --set 'data.images={ labels: "pictures/list.txt" }'
expect "a base by another name" '0     base = "plain.txt.textproto",' \
  "${code} $(grep base "${root}/ws/lab/plain/BUILD")"
expect "a folder of tokens" \
  'model { language_model { tokens { folder: "lab/plain/links/tokenizer" } } }' \
  "$(<"${root}/ws/lab/plain/plain.txt.textproto")"
expect "a list with the pictures beside it" "a.png
picture" "$(cd "${root}/ws" && cat lab/plain/links/pictures/{list.txt,a.png})"
expect "a list and labels" '        "data.captions.list=lab/plain/links/pictures/list.txt",
        "data.images={ labels: \"lab/plain/links/pictures/list.txt\" }",' \
  "$(grep -F -e list -e labels: "${root}/ws/lab/plain/BUILD")"

# Names of a column and of a field, though files are called so.
cp corpus.txt price
cp corpus.txt data.path
cat >table.textproto <<'EOT'
data { table  # of numbers
  { target: "price" } pairs { train { target: "price" } } }
baseline { override: [{ path: "price" value: "1" }, { path: "data.path" }] }
EOT
ablate --config=table.textproto --axis data.table.target=price,size \
  --set 'data.table={ target: "price" }' --set 'baseline.override[0].path=price'
expect "a config with a column" 'data { table  # of numbers
  { target: "price" } pairs { train { target: "lab/table/links/price" } } }
baseline { override: [{ path: "price" value: "1" }, { path: "data.path" }] }' \
  "$(<"${root}/ws/lab/table/table.textproto")"
expect "columns of flags" 4 \
  "$(grep -c '=price\|=size\|: \\"price\\"' "${root}/ws/lab/table/BUILD")"

echo mine >"${lab}/notes.txt"
ablate --config=small.textproto "${axis[@]}"
expect "again, with fewer links" "0 corpus.txt mine" \
  "${code} $(ls "${lab}/links") $(<"${lab}/notes.txt")"
# What fails before anything is trained is wrong input.
BROKEN=small_check ablate --config=small.textproto "${axis[@]}"
expect "wrong value" 2 "${code}"
BROKEN=:small ablate --config=small.textproto "${axis[@]}"
expect "failed training" "1 " "${code} ${out}"

refuses() { # refuses TEXT ARGUMENT...
  ablate "${@:2}"
  expect "exit code of $*" 2 "${code}"
  [[ "${err}" == *"$1"* ]] || expect "error of ${*:2}" "$1" "${err}"
  [[ "${err}" != *Traceback* ]] || expect "a trace" "" "${err}"
}
config=(--config=small.textproto)
refuses 'required: --config, --axis'
refuses 'required: --axis' "${config[@]}"
refuses '--config=none.textproto: no such file' --config=none.textproto \
  "${axis[@]}"
refuses 'must be PATH=VALUE' "${config[@]}" --axis hidden
refuses 'must be PATH=VALUE' "${config[@]}" "${axis[@]}" --set 'a b=1'
refuses 'must have two values or more' "${config[@]}" --axis hidden=64
refuses 'a value is empty' "${config[@]}" --axis hidden=64,
refuses '64 appears twice' "${config[@]}" --axis hidden=64,64
refuses "'}' is missing in {dot {},b" "${config[@]}" --axis 'a={dot {},b'
refuses "']' closes no bracket" "${config[@]}" --axis 'a=(1],2'
refuses 'a " is not closed' "${config[@]}" --axis 'a="1,2'
refuses 'use --seeds=N instead' "${config[@]}" --axis seed=1,2
refuses '--set seed=...: use --seeds=N instead' "${config[@]}" "${axis[@]}" --set seed=7
refuses 'hidden is given twice' "${config[@]}" --axis hidden=1,2 --set hidden=3
refuses 'must be at least 1' "${config[@]}" "${axis[@]}" --seeds=0
refuses "invalid int value: 'x'" "${config[@]}" "${axis[@]}" --seeds=x
refuses "must start with a letter and contain only letters, digits and '_'" "${config[@]}" "${axis[@]}" --name=../x
refuses 'unrecognized arguments: --axes' "${config[@]}" "${axis[@]}" --axes=1
echo 'base: "gone.textproto"' >orphan.textproto
before="$(<"${lab}/BUILD")"
refuses 'orphan.textproto: base: ' --config=orphan.textproto "${axis[@]}" \
  --name=small
expect "the targets of an earlier ablation" "${before}" "$(<"${lab}/BUILD")"
touch $'d\xff'
refuses 'is not UTF-8' "${config[@]}" "${axis[@]}" --set $'data.path=d\xff'
echo 'base: "ring.textproto"' >ring.textproto
refuses 'forms a cycle' --config=ring.textproto "${axis[@]}"
mkdir -p "${root}/ws/lab/mine"
echo 'cc_library()' >"${root}/ws/lab/mine/BUILD"
refuses 'choose another --name' "${config[@]}" "${axis[@]}" --name=mine
expect "a BUILD of the user's" 'cc_library()' "$(<"${root}/ws/lab/mine/BUILD")"

exit $((failures > 0))
