#!/bin/bash
# Trains a small model of each kind, then makes predictions with it and
# evaluates it.

source experiments/testing.sh

train="${runfiles}/$1"
predict="${runfiles}/$2"
translate="${runfiles}/$3"
generate="${runfiles}/$4"
evaluate="${runfiles}/$5"
runs="${runfiles}/$6"
configs="${runfiles}/$7"
embed="${runfiles}/$8"
bert="${runfiles}/$9"
export="${runfiles}/${10}"

run() { # run NAME CONFIG ARGUMENT...: trains.
  quietly "${train}" --config="${configs}/$2.textproto" --run="$1" \
    --set 'baseline.override=[]' --set training.epochs=1 "${@:3}"
}

run words phrasebook --set data.phrasebook.train=300 \
  --set data.phrasebook.test=20 --set data.phrasebook.test_unseen_pairs=20
for i in $(seq 60); do echo "Line ${i}: a text in which nothing happens."; done \
  >text
run letters tiny_shakespeare --set data.path=text \
  --set training.examples_per_epoch=64 \
  --set model.language_model.transformer.width=16 \
  --set model.language_model.transformer.layers=1
run curve nadaraya_watson
run shapes shapes_vit --set 'data.shapes={train: 100 dev: 10 test: 12}' \
  --set model.vision_transformer.transformer.layers=1
run pictures captions --set 'data.captions={train: 100 dev: 10 test: 12}' \
  --set model.captioner.vision_transformer.transformer.layers=1 \
  --set model.captioner.decoder.layers=1
run filled grammar_masked_words --set data.grammar.train=200 \
  --set data.grammar.dev=20 --set data.grammar.test=0
while read -r label sentence; do
  printf '%s\t%s\n' "${label}" "${sentence}"
done >labelled <<'LINES'
good the cat sleeps
bad the cat sleep
good dogs run
bad dogs runs
good a bird sings
bad a bird sing
LINES
run right grammaticality --set 'data={labelled_text {dev_fraction: 0.5}}' \
  --set data.path=labelled --set training.batch_size=2

cat >pairs.tsv <<'TSV'
the cat sleeps	the cat sleeps	5
the cat sleeps	a cat sleeps	4.5
the dogs run	the dogs see a bird	2.5
a bird sings	the cat sleeps	0
the bird sings	a bird sings	4
TSV
cat >vectors.textproto <<'CONFIG'
data {
  scored_pairs { dev_fraction: 0.4 highest: 5 }
  path: "pairs.tsv"
}
model {
  text_embedder {
    bert { transformer { width: 8 layers: 1 attention { heads: 2 } } }
  }
}
training { epochs: 2 batch_size: 2 }
CONFIG
quietly "${train}" --config=vectors.textproto --run=vectors

"${runs}" . >out
expect 'a line for each run' 9 "$(wc -l <out)"
expect_in out 'test/accuracy' 'finished'
expect 'the best first' 'right words' "$("${runs}" --by=dev/loss . |
  awk 'NR > 1 { print $1 }' | grep -E '^(right|words)$' | tr '\n' ' ' |
  sed 's/ $//')"
"${runs}" --json words >out
expect_in out '{"typical":".","runs":[{"run":".","state":"finished","step":'
fails 'no run' 'contains no run' "${runs}" "${configs}"
fails 'no metric' "did you mean 'test/bleu'?" "${runs}" --by=test/blue .
fails 'two folders' 'exactly one FOLDER is required' "${runs}" words right

# On its own data, a run must reproduce its numbers. Excludes train/loss, which
# was measured during training.
numbers() { # numbers FILE: prints the metrics and confidence intervals.
  tr '{},' '\n\n\n' <"$1" | grep -E '^"(dev|test|train/mse|train/d2l)|^"mean|^"half'
}
for run in words letters curve shapes pictures filled right vectors; do
  "${evaluate}" --run="${run}" --json >out
  expect "the numbers of ${run}" "$(numbers "${run}/status.json")" \
    "$(numbers out)"
done
"${evaluate}" --run=words >out 2>&1
expect_in out 'Final metrics' 'test/bleu' '95 %:' 'Run     '
"${evaluate}" --run=words --threads=1 --set search.beam=3 \
  --set data.phrasebook.test=7 --json >out
expect_in out '"set":["search.beam=3","data.phrasebook.test=7"]' '"test/bleu":'
"${evaluate}" --run=letters --set search.beam=3 >out 2>&1
expect_in out 'search: has no effect: `language_model` does not search'
# `evaluate` must compare an intervention with the unchanged model.
"${evaluate}" --run=words --set \
  "intervene={site: '*/attention/context' replace {zeros {}}}" >out 2>&1
expect_in out 'untouched: ' 'difference: '
"${evaluate}" --run=words --json --set \
  "intervene={site: '*/attention/context' replace {scale: 1}}" >out
expect 'a change that changes nothing' '1 0' "$(python3 -c '
import json
said = json.load(open("out"))
print(int(said["untouched"] == said["metrics"]),
      max(map(abs, said["differences"].values())))')"
printf 'they are watching .\tils regardent .\n' >pairs
"${evaluate}" --run=words --set 'data={pairs {train {path: "pairs"}}}' >out 2>&1
expect_in out 'note: nothing is evaluated: the data has no dev or test split'
fails 'a stride of another model' 'note: --stride applies only to language models' \
  "${evaluate}" --run=words --stride=3
fails 'no text' 'text nowhere: cannot open' \
  "${evaluate}" --run=letters --text=nowhere --stride=3
expect 'that alone' 0 "$(grep -c '^note' err)"
# Evaluates a run on another text, with overlapping windows.
head -c 200 text >prose
"${evaluate}" --run=letters --text=prose --stride=3 --json >out
expect_in out '"test/perplexity":' 'evaluation_stride=3'
printf a >prose
fails 'a text of one character' '--text: the file is too short; it must' \
  "${evaluate}" --run=letters --text=prose
# Evaluates on other texts, with the vocabulary and labels of the run.
printf 'bad\tdogs sing\ngood\tzebras run\nbad\tthe\nbad\tdogs\n' >other
"${evaluate}" --run=right --set data.path=other --json >out
expect_in out '"dev/accuracy":'
printf 'good\tdogs\nodd\tdogs run\ngood\tthe\ngood\tdog\n' >other
fails 'a label that the run lacks' \
  "error: data: the model does not know label 'odd'; it knows good, bad" \
  "${evaluate}" --run=right --set data.path=other
{ cat text; echo 'Quite another line'; } >other
fails 'a letter that the run lacks' \
  "other:61:1: error: the model does not know 'Q' (U+0051)" \
  "${evaluate}" --run=letters --set data.path=other
fails 'a field of training' \
  'error: --set training.epochs=2: only fields of data, search and ' \
  "${evaluate}" --run=words --set training.epochs=2
fails 'no field' 'serach' "${evaluate}" --run=words --set serach.beam=2
fails 'no such beam' 'search.beam' "${evaluate}" --run=words \
  --set search.beam=0
cp labelled trained_on
echo 'bad cats runs' | tr ' ' '\t' | sed 's/\t/ /2' >>labelled
"${evaluate}" --run=right >/dev/null 2>err
expect_in err 'data.path has changed since the training: its SHA-256 was '
"${evaluate}" --run=right --set data.path=labelled >/dev/null 2>err
"${predict}" --run=right 'the cat sleeps' >/dev/null 2>>err
mv trained_on labelled
"${evaluate}" --run=right >/dev/null 2>>err
expect 'data that are asked for, of no use, or as they were' '' "$(cat err)"
fails 'no such file' 'nowhere' "${evaluate}" --run=letters \
  --set data.path=nowhere

# The specialized programs must give the same translations and continuations.
printf 'they are watching .\n\ni am sad .\n' >sentences
expect 'translations' "$("${translate}" --run=words <sentences)" \
  "$("${predict}" --run=words <sentences)"
expect 'translations of arguments' "$("${predict}" --run=words <sentences)" \
  "$("${predict}" --run=words 'they are watching .' '' 'i am sad .')"
"${predict}" --run=words 'they are zebras .' >out 2>err
expect_in err "note: input 1: the model does not know 'zebras'"
"${predict}" --run=words --example=19 --json >out
expect_in out '"reference":' '"input":' '"answer":'
expect 'an answer without waiting for more' \
  "$("${predict}" --run=words 'i am sad .')" \
  "$(first_answer 'i am sad .' "${predict}" --run=words)"
code=0
{ echo 'i am sad .'; yes sad | head -n 20000 | tr '\n' ' '; } |
  "${predict}" --run=words >out 2>err || code=$?
expect 'a long line is not cut silently' \
  '2 1 error: line 2: must not be longer than 64 KiB' \
  "${code} $(wc -l <out) $(cat err)"

# Requests must work without the corpus, which only examples need.
mv text elsewhere
expect 'a continuation' \
  "$("${generate}" --run=letters --top_k=1 --length=20 'Line 1' |
    tr '\n' '#' | sed 's/#$//; s/#/↵/g')" \
  "Line 1$("${predict}" --run=letters --length=20 'Line 1')"
expect 'a line that ends in a carriage return' \
  "$("${predict}" --run=letters 'Line 1')" \
  "$(printf 'Line 1\r\n' | "${predict}" --run=letters)"
fails 'an example without the corpus' 'text' \
  "${predict}" --run=letters --example=0
expect 'a hundred characters' \
  "$("${predict}" --run=letters --length=100 'Line 1')" \
  "$("${predict}" --run=letters 'Line 1')"
mv elsewhere text
"${predict}" --run=letters --example=1 --json >out
expect_in out '"reference":'
fails 'an unknown letter' \
  "error: input 1: character 5: the model does not know 'Q' (U+0051)" \
  "${predict}" --run=letters LineQ

value="$("${predict}" --run=curve 1.5)"
expect 'a value is a number' 1 "$(grep -cE '^[0-9]+\.[0-9]+$' <<<"${value}")"
expect 'values at several x' "${value}"$'\n'"${value}" \
  "$(printf '1.5\n15e-1\n' | "${predict}" --run=curve)"
"${predict}" --run=curve --example=10 --json >out
expect_in out '"input":"1"' '"values":[' '"reference":"'
fails 'two numbers' "expected a number for each of x; got 2 numbers" \
  "${predict}" --run=curve '1, 2'
fails 'a number too far away' \
  "error: input 1: expected numbers from -1e+15 to 1e+15; got '-1e16'" \
  "${predict}" --run=curve -- -1e16
fails 'no number' "error: input 1: expected a number for each of x; got 'three'" \
  "${predict}" --run=curve three

# A regression must predict from its training points, with all digits.
rows() { # rows STEP
  for i in $(seq 40); do
    echo "$((1700000000 + i)),$((1000000 + $1 * i)).125"
  done
}
rows 3 >times.csv
run times table --set data.path=times.csv --set data.table.standardize=true
value="$("${predict}" --run=times 1700000007)"
expect 'in the units of the file' 1 \
  "$(grep -cE '^10000[0-9]{2}\.[0-9]{4,}$' <<<"${value}")"
expect 'the same number in JSON' 1 \
  "$("${predict}" --run=times --json 1700000007 | grep -cF "[${value}]")"
"${predict}" --run=times --example=0 --json >out
expect 'a reference with all digits' 1 \
  "$(grep -cE '"reference":"1000[0-9]{3}\.125"' out)"
rows 9 >times.csv
expect 'the file changed' "${value}" "$("${predict}" --run=times 1700000007)"
"${evaluate}" --run=times >/dev/null 2>err
expect_in err 'data.path has changed since the training: its SHA-256 was '
mv times/training_points.json kept.json
fails 'the points are lost' 'the training points have changed since the' \
  "${predict}" --run=times 1700000007
mv kept.json times/training_points.json
rows 3 >others.csv
"${evaluate}" --run=times --set data.path=others.csv --json >out
expect_in out '"dev/mse":'
(echo 'a,b'; rows 3) >others.csv
fails 'other columns' \
  'error: data: the model predicts 2 from 1, but the data has b from a' \
  "${evaluate}" --run=times --set data.path=others.csv
rm times.csv
expect 'the file is gone' "${value}" "$("${predict}" --run=times 1700000007)"

expect 'the class of a text' 1 "$("${predict}" --run=right 'the dogs sleeps' |
  grep -cE '^(good|bad)$')"
class="$("${predict}" --run=right --json 'the dogs sleeps')"
expect 'two classes' 2 "$(grep -o '"probability":0\.' <<<"${class}" | wc -l)"
# On a terminal, a prediction must have several lines.
python3 - "${predict}" --run=right --example=0 >screen <<'PYTHON'
import os, pty, subprocess, sys
master, slave = pty.openpty()
subprocess.run(sys.argv[1:], stdout=slave, check=True)
sys.stdout.write(os.read(master, 4096).decode().replace("\r", ""))
PYTHON
expect 'the class, all classes, and the right one' 'CLASS
  CLASS 0.N, CLASS 0.N
  (dogs runs -> bad)' "$(sed -E 's/[0-9]{3}/N/g; 1,2s/good|bad/CLASS/g' screen)"
mv labelled elsewhere
expect 'a class without the corpus' "${class}" \
  "$("${predict}" --run=right --json 'the dogs sleeps')"
# Runs of earlier versions did not store their labels.
rm right/labels.txt
fails 'neither labels nor corpus' 'labels.txt' "${predict}" --run=right dogs
mv elsewhere labelled
expect 'the labels of the corpus' "${class}" \
  "$("${predict}" --run=right --json 'the dogs sleeps')"

filled="$("${predict}" --run=filled 'the [MASK] that the dog sees [MASK]')"
expect 'filled in' 1 "$(grep -cE '^the [a-z]+ that the dog sees [a-z]+' \
  <<<"${filled}")"
"${predict}" --run=filled $'the [MASK]\nthe dog' >out
expect 'two lines filled in on one' '1 1' \
  "$(wc -l <out) $(grep -c '^the .*↵the dog$' out)"
"${predict}" --run=filled --top=2 --json 'the [MASK]' >out
expect 'two words a mask' 2 "$(grep -o '"probability"' out | wc -l)"
"${predict}" --run=filled --json 'the [MASK]' >out
expect 'five words a mask' 5 "$(grep -o '"probability"' out | wc -l)"
"${predict}" --run=filled --example=0 --json >out
expect_in out '[MASK]' '"reference":'
fails 'nothing to fill in' 'error: input 1: expected a text with [MASK]' \
  "${predict}" --run=filled 'the cat sleeps'

"${predict}" --run=shapes --example=3 --example=0 >out
expect 'the classes of images' 2 "$(wc -l <out)"
fails 'no such example' 'error: example 12: the index of an example must be less than 12, the number of examples; got 12' \
  "${predict}" --run=shapes --example=12
fails 'a text where an image is wanted' \
  "error: input 1: 'they are watching .': cannot read a PNG or JPEG file: " \
  "${predict}" --run=shapes 'they are watching .'
# A PNG file with one black pixel.
base64 -d >pixel.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAA
AABJRU5ErkJggg==
PNG
fails 'an image of another size' \
  "error: input 1: 'pixel.png': has 1 x 1 pixels (height x width); the model" \
  "${predict}" --run=shapes pixel.png
fails 'an image where a text is wanted' \
  "error: input 1: 'pixel.png' is an image, but the task of this run reads no images" \
  "${predict}" --run=words pixel.png
expect 'a caption' 1 "$("${predict}" --run=pictures --example=0 | wc -l)"
"${predict}" --run=pictures --example=0 --json >out
expect_in out '"input":"image 0"' '"reference":"'

# A Hugging Face model folder can be used like a run.
"${embed}" --run="${bert}" <<<'the cat' >vector
expect 'a vector' "$(cat vector)" "$("${predict}" --run="${bert}" 'the cat')"
"${predict}" --run="${bert}" --json $'the cat\tan old bird' >out
expect 'the similarity of a pair' \
  "$("${embed}" --run="${bert}" --pairs <<<$'the cat\tan old bird')" \
  "$(sed 's/.*"answer":"\([^"]*\)".*/\1/' out)"
fails 'three texts' 'error: input 1: expected a text, or two texts separated by a tab' \
  "${predict}" --run="${bert}" $'the\tcat\tsleeps'
fails 'evaluated on nothing' \
  'error: data.path names no file; set it with --set data.path=FILE; each' \
  "${evaluate}" --run="${bert}"
"${evaluate}" --run="${bert}" --set data.path=pairs.tsv --json >out
expect_in out '"step":0' '"test/loss":' '"test/spearman":0.' '"test/pearson":0.' \
  '"confidence":{"test/pearson":{"mean":'
fails 'an example of nothing' 'error: data.path names no file' \
  "${predict}" --run="${bert}" --example=1
expect 'an example of pairs' '"reference":"0.8"' \
  "$("${predict}" --run=vectors --json --example=1 |
    grep -o '"reference":"[0-9.]*"')"
for run in filled right vectors; do
  numbers="$("${embed}" --run="${run}" <<<'the cat sleeps' | wc -w)"
  width="$(grep -o ' width: [0-9]*' "${run}/resolved.textproto" | head -n 1)"
  expect "the vector of ${run}" "${width}" " width: ${numbers}"
done
expect 'the vector of an embedder' \
  "$("${embed}" --run=vectors <<<'the cat sleeps')" \
  "$("${predict}" --run=vectors 'the cat sleeps')"
fails 'vectors of a translator' "the model of this run is not a BERT model" \
  "${embed}" --run=words
cp -r filled replaced
echo 'intervene { site: "*context" replace { zeros {} } }' \
  >>replaced/resolved.textproto
fails 'a run that replaces values' 'which embed does not support' \
  "${embed}" --run=replaced
fails 'a model that is not theirs' \
  'added: attention.attention.position_encoding' "${export}" --run=filled copy
fails 'a translator' 'this model cannot be written as a' "${export}" --run=words copy

# A classifier that began with the weights of a run must not need this run
# later. Only a classifier that an earlier version trained needs it.
run begun grammaticality --set model.text_classifier.pretrained=filled \
  --set data.grammaticality.train=20
"${predict}" --run=begun 'the dogs sleeps' >class
mv filled elsewhere
expect 'a class without the run' "$(cat class)" \
  "$("${predict}" --run=begun 'the dogs sleeps')"
mv begun/tokens.textproto tokens
fails 'neither tokens nor run' \
  'error: model.text_classifier.pretrained: not a run folder' \
  "${predict}" --run=begun dogs
mv elsewhere filled
expect 'the tokens of the run' "$(cat class)" \
  "$("${predict}" --run=begun 'the dogs sleeps')"
mv tokens begun/tokens.textproto

# Training can begin with the folder, too.
cat >tuned.textproto <<CONFIG
data { scored_pairs {} path: "pairs.tsv" }
model {
  text_embedder {
    bert {
      transformer {
        width: 8
        layers: 2
        attention { heads: 2 }
        feed_forward { hidden: 12 }
        position_embedding { longest: 32 }
      }
    }
    tokens { vocabulary: "${bert}/vocab.txt" }
  }
}
training { epochs: 0 initial_weights { run: "${bert}" } }
CONFIG
quietly "${train}" --config=tuned.textproto --run=tuned
expect 'the weights of a folder' "$(cat vector)" \
  "$("${embed}" --run=tuned <<<'the cat')"
cp -r tuned replaced_vectors
echo 'intervene { site: "*context" replace { zeros {} } }' \
  >>replaced_vectors/resolved.textproto
fails 'an export that would not be the run' 'which export does not support' \
  "${export}" --run=replaced_vectors none
"${export}" --run=tuned exported >/dev/null
expect 'and they are a folder again' "$(cat vector)" \
  "$("${embed}" --run=exported <<<'the cat')"

wrong() { # wrong WHAT PART: expects an error for `folder`.
  fails "$1" "$2" "${predict}" --run=folder 'the cat'
  rm -r folder
}
mkdir folder
wrong 'an empty folder' 'folder is neither a run folder, which has run.json'
another() { rm -rf folder && cp -rL "${bert}" folder && chmod -R u+w folder; }
another
sed -i 's/"model_type": "bert"/"model_type": "xlnet"/' folder/config.json
wrong 'an unknown architecture' \
  'error: model_type must be one of bert, blip, gpt2, vit, but is "xlnet"'
another
rm folder/model.safetensors
wrong 'no weights' 'folder/model.safetensors: cannot open'
another
sed -i '$d' folder/vocab.txt
wrong 'a smaller vocabulary' \
  'vocab.txt: error: has 31 tokens, but vocab_size of config.json is 32'
another
echo '{' >folder/config.json
wrong 'a broken config' 'folder/config.json:'

fails_when_full 'an answer' "${predict}" --run=curve 1
fails 'no run' '--run=DIR must name' "${predict}" 1

# Without --run, programs must use the run under runs/ that was trained last.
run runs/first nadaraya_watson
run runs/second nadaraya_watson --set seed=2
run runs/deeper/third nadaraya_watson --set seed=3
run elsewhere nadaraya_watson --set seed=4
latest() { # latest NAME: expects this latest run.
  expect "the link to $1" "$1" "$(readlink runs/latest)"
  "${predict}" 1.5 >out 2>err
  expect "the answer of $1" "$("${predict}" --run="runs/$1" 1.5)" "$(<out)"
  expect "the note on $1" \
    "note: no --run was given; using the latest run, runs/$1" \
    "$(grep 'no --run' err)"
}
latest second
quietly "${train}" --resume --run=runs/first
latest first
quietly "${train}" --resume
expect_in log 'using the latest run, runs/first'
"${evaluate}" --json >out 2>err
expect 'notes of an evaluation' 1 "$(grep -c 'the latest run' err)"
expect_in out '"run":"runs/first"'
expect 'the list' 3 "$("${runs}" --json runs | grep -o '"run":' | wc -l)"
fails 'a translation' 'runs/first: the model of this run does not translate' \
  "${translate}" 'a word'
fails 'a text' 'using the latest run, runs/first' "${generate}" 'a word'
fails 'an embedding' 'using the latest run, runs/first' "${embed}"
fails 'an export needs its run' '--run=DIR must name' "${export}" folder
rm -r runs/first
fails 'a latest run that is gone' 'runs/first' "${predict}" 1
mv runs/second runs/moved
rm runs/latest
mv runs/moved runs/latest
quietly "${train}" --config="${configs}/nadaraya_watson.textproto" \
  --run=runs/other --set training.epochs=1 --set 'baseline.override=[]'
expect_in log 'note: runs/latest: is not a link to the latest run; rename it'
fails 'no number of an example' \
  "error: --example requires a whole number, 0 or more, got '-1'" \
  "${predict}" --run=curve --example=-1
