#!/bin/bash
# Trains on files of raw text, then translates raw text.

source experiments/testing.sh

train="${runfiles}/$1"
translate="${runfiles}/$2"
config="${runfiles}/$3"
compare="${runfiles}/$4"

# Sentences of three out of ten words, and their translations.
english=(One Two Cats Dogs see like Birds "don't" hear, find)
french=(Un Deux Chats Chiens voient aiment Oiseaux "n'ont" ouïe, trouvent)
for i in $(seq 0 399); do
  a=$((i % 10)) b=$((i / 10 % 10)) c=$((i * 7 / 3 % 10))
  echo "${english[a]} ${english[b]} ${english[c]}!" >>all.en
  echo "${french[a]} ${french[b]} ${french[c]} !" >>all.fr
done
head -n 340 all.en >train.en
head -n 340 all.fr | gzip >train.fr.gz
tail -n 60 all.en >dev.en
tail -n 60 all.fr >dev.fr
# Adds a pair that training must skip, and an empty line that evaluation must
# keep.
echo >>train.en
printf 'rien\n' | gzip >>train.fr.gz
printf '\n' >>dev.en
printf '\n' >>dev.fr

splits=(--set data.pairs.train.source=train.en
  --set data.pairs.train.target=train.fr.gz
  --set data.pairs.dev.source=dev.en --set data.pairs.dev.target=dev.fr
  --set data.pairs.test.source=dev.en --set data.pairs.test.target=dev.fr)
quietly "${train}" --config="${config}" --run=run "${splits[@]}"
expect 'what is left out is told' 1 "$(grep -c \
  'note: .*1 of 341 pairs of `train` are left out: 1 with an empty side' log)"
field() { # field NAME: prints a metric or signature of status.json.
  python3 - "$1" <<'PYTHON'
import json, sys
status = json.load(open("run/status.json"))
name = sys.argv[1]
print(status["signatures"][name[2:]] if name.startswith("s:")
      else status["metrics"][name])
PYTHON
}
expect 'the signature of BLEU' \
  'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1' \
  "$(field s:test/bleu)"
expect 'four scores have signatures' 'bleu chrf chrf++ ter' "$(python3 -c '
import json
names = json.load(open("run/status.json"))["signatures"]
print(*sorted(name[5:] for name in names if name.startswith("test/")))')"
expect 'dev and test are one text' "$(field dev/bleu)" "$(field test/bleu)"
expect 'it has learned' 1 "$(python3 -c "print(int($(field test/bleu) > 50))")"
expect 'a share of padding' 1 \
  "$(python3 -c "print(int(0 < $(field train/padding_share) < 0.2))")"
expect 'the model of subwords is kept' \
  "$(sha256sum run/subwords.model | cut -d ' ' -f 1)" \
  "$(python3 -c 'import json
print(json.load(open("run/environment.json"))["data"]["subwords.model"])')"
newest="$(find run/checkpoints -name 'step-*' | sort -t- -k2 -n | tail -n 1)"
expect 'the weights to use' 1 "$(find "${newest}" -name best.safetensors | wc -l)"

# Translating again must give the translations from which the run computed its
# metrics.
"${translate}" --run=run <dev.en >out 2>err
expect 'a line for each line' 61 "$(wc -l <out)"
expect 'exact matches as measured' "$(field test/exact_match)" "$(python3 -c '
pairs = list(zip(open("out"), open("dev.fr")))
print(sum(a == b for a, b in pairs) / len(pairs))')"
# About half of the sentences must begin with a capital letter.
expect 'raw text' 1 "$(("$(grep -cE '^[A-Z].* !$' out)" > 24))"
paste dev.en out | "${translate}" --run=run --score >scores
expect 'a score for each pair' 61 "$(wc -l <scores)"

# examples.jsonl must contain the outputs, and the statistics behind the
# metrics.
expect 'outputs are kept' "$(cat out)" "$(python3 -c '
import json
lines = [json.loads(line) for line in open("run/examples.jsonl")]
dev, test = lines[1:62], lines[63:]
assert [row["statistics"] for row in dev] == [row["statistics"] for row in test]
print("\n".join(row["output"] for row in test))')"
expect 'intervals about the scores' 1 "$(python3 -c '
import json
status = json.load(open("run/status.json"))
interval = status["confidence"]["test/bleu"]
print(int(abs(interval["mean"] - status["metrics"]["test/bleu"]) < 5
          and 0 < interval["half_width"] < 30))')"
expect 'BLEU by length is drawn' 1 \
  "$(grep -c '<figcaption>test/bleu by source tokens</figcaption>' run/report.html)"
expect 'worst and best sentences' 1 \
  "$(grep -c '<h2>Worst and best by test/chrf</h2>' run/report.html)"
"${compare}" run run >comparison
expect 'a run does not differ from itself' 5 \
  "$(grep -c ' 0 \[0, 0\] *1.0000 *1.0000 *1.0000$' comparison)"
expect 'a comparison as an object' '0 5 0 2' "$("${compare}" --json run run |
  python3 -c '
import json, sys
both = json.load(sys.stdin)
over = [c["over_examples"]["difference"] for c in both["comparisons"]
        if "over_examples" in c]
print(len(both["config"]), len(over), max(over), len(both["runs"]))')"
fails_when_full 'a comparison' "${compare}" run run

# Resuming a finished run must not train it again.
before="$(cat run/status.json)"
results() { # results: lists all but the config, which has paths.
  sed '/<h2>Config</,$d' run/report.html | cat - run/examples.jsonl | sha256sum
}
page="$(results)"
quietly "${train}" --run=run --resume
expect 'resumed' "${before}" "$(cat run/status.json)"
expect 'the same report' "${page}" "$(results)"
