#!/bin/bash
# Compares all kinds of model folders with a Python that has transformers 4
# or 5. Writes random models and reads them back.
#
#   tools/bazel build //tools:{caption,embed,evaluate,export,generate,predict} \
#     //tools/parity:print_ids
#   tools/parity/check_folders.sh [PYTHON] [GPT2_TOKENIZER]
#
# Exits with 1 if a check fails. See check_byte_pairs.py for GPT2_TOKENIZER.
# Without it, uses the tokenizer of a random model.
set -euo pipefail

python="${1:-python3}"
made="$(mktemp -d)"
trap 'rm -rf "${made}"' EXIT
failed=0

check() { # check NAME ARGUMENT...
  echo "== check_$1 ${*:2:1}"
  "${python}" "tools/parity/check_$1.py" "${@:2}" || failed=1
}

"${python}" -c 'import transformers; print(transformers.__version__)'
"${python}" tools/parity/write_random_folders.py "${made}/folders"
folders="${made}/folders"
for i in 0 1; do
  check embeddings "${folders}/bert_${i}" "${folders}/texts.txt"
  check wordpiece "${folders}/bert_${i}" "${folders}/texts.txt"
  check classes "${folders}/bert_classifier_${i}" "${folders}/pairs.tsv" \
    "${made}/copy_${i}"
  for kind in bert_masked bert_pretraining; do
    check words "${folders}/${kind}_${i}" "${folders}/texts.txt" \
      "${made}/${kind}_copy_${i}"
  done
  check gpt2 "${folders}/gpt2_${i}" "${folders}/texts.txt"
  check captions "${folders}/blip_${i}" "${folders}"/images/*.png
done
for folder in "${folders}"/embedder_*; do
  check embeddings "${folder}" "${folders}/texts.txt"
done
check byte_pairs "${2:-${folders}/gpt2_1}" "${folders}/texts.txt"
check vit
exit "${failed}"
