#!/bin/bash
# Trains small captioners and a classifier, on generated canvases and on files,
# and makes predictions for files.

source experiments/testing.sh

train="${runfiles}/$1"
caption="${runfiles}/$2"
predict="${runfiles}/$3"
evaluate="${runfiles}/$4"
inspect="${runfiles}/$5"
configs="${runfiles}/$6"
blip="${runfiles}/$7"
export="${runfiles}/$8"

run() { # run NAME CONFIG ARGUMENT...: trains.
  quietly "${train}" --config="${configs}/$2.textproto" --run="$1" \
    --set 'baseline.override=[]' --set training.epochs=1 \
    "${@:3}"
}

# Red and blue squares of any size, with two sentences each.
python3 <<'PYTHON'
import os, struct, zlib

def chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum

def write(name, size, pixel):
    rows = (b"\0" + pixel * size) * size
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
            ">IIBBBBB", size, size, 8, 2 if len(pixel) == 3 else 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

os.makedirs("own/red")
os.makedirs("own/blue")
with open("own/list.tsv", "w") as lines:
    for i in range(20):
        color = ("red", "blue")[i % 2]
        name = f"{color}/{i}.png"
        write("own/" + name, 9 + i, b"\xff\0\0" if i % 2 == 0 else b"\0\0\xff")
        lines.write(f"{name}\ta {color} square\n{name}\ta square in {color}\n")
write("canvas.png", 32, b"\x80")
PYTHON

run pictures captions --set search.min_length=2 --set 'data.captions={train: 100 dev: 10 test: 12}' \
  --set model.captioner.vision_transformer.transformer.layers=1 \
  --set model.captioner.decoder.layers=1
"${caption}" --run=pictures canvas.png >out
expect 'the answer, prompt included' \
  "a picture of $("${predict}" --run=pictures canvas.png)" "$(cat out)"
"${caption}" --run=pictures --length=2 --prompt='the picture of' canvas.png \
  canvas.png >out 2>err
expect 'two lines of two words after the prompt' 2 \
  "$(grep -cE '^the picture of( [^ ]+){0,2}$' out)"
expect 'a word that training never had' "note: the model does not know 'the'" \
  "$(grep know err)"
# min_length and --length are 2, so the third id can only be the end token.
expect_in err 'note: 2 of 2 captions were cut at their maximum length'
expect_in pictures/run.json '"training_data":{"longest_target":'
expect_in pictures/status.json '"test/cut_outputs":'
"${caption}" --run=pictures --length=99999 canvas.png >out
expect 'the greatest length' 1 "$(wc -l <out)"
"${caption}" --run=pictures --prompt=' ' --length=3 canvas.png >out
expect 'no prompt' 1 "$(wc -l <out)"
"${caption}" --run=pictures --beam=3 --n_best=2 canvas.png >out
expect 'the best two' 2 "$(grep -cE '^0 \|\|\| a picture of .* \|\|\| -' out)"
"${caption}" --run=pictures --sample --n_best=3 --seed=1 canvas.png >out
expect 'three samples' 3 "$(wc -l <out)"
expect 'the same samples' "$(cat out)" "$("${caption}" --run=pictures \
  --sample --n_best=3 --seed=1 --threads=1 canvas.png)"
"${caption}" --run=pictures --inspect --prompt='a' --length=4 canvas.png \
  >out 2>err
expect_in err 'Page  ' 'pictures/caption_1.html'
expect_in pictures/caption_1.html 'data:image/png;base64' '>Gradients<'

fails 'no image' 'error: at least one IMAGE is required' "${caption}" --run=pictures
fails 'another size' "error: image 1: 'own/red/0.png': has 9 x 9 pixels" \
  "${caption}" --run=pictures own/red/0.png
fails 'a long prompt' 'error: image 1: prompt: has 17 words; the model reads at' \
  "${caption}" --run=pictures --prompt="$(printf 'a %.0s' $(seq 17))" canvas.png
fails 'a beam of samples' 'error: --temperature, --top_k, --top_p, --min_p and' \
  "${caption}" --run=pictures --seed=1 canvas.png

# Predicts captions and classes of files. This must also work without the
# training data.
format='{height: 16 width: 16}'
run own captions \
  --set "data.captions={list: 'own/list.tsv' format: ${format}}" \
  --set 'training.batch_size=8' --threads=1
expect_in own/status.json '"test/cider_d":' '"test/bleu":' '"test/exact_match":'
expect 'the same weights with two threads' \
  "$(grep -o '"weights_digest":"[0-9a-f]*"' own/status.json)" \
  "$(run again captions \
    --set "data.captions={list: 'own/list.tsv' format: ${format}}" \
    --set 'training.batch_size=8' --threads=2 &&
    grep -o '"weights_digest":"[0-9a-f]*"' again/status.json)"
run colors shapes_vit --set 'data={images {path: "own"
  format {height: 12 width: 16 filter: BILINEAR crop: true}}}' \
  --set model.vision_transformer.augmentation.shift=0 \
  --set 'training.batch_size=4' --set training.epochs=30
expect 'the classes' 'blue red' "$(tr '\n' ' ' <colors/labels.txt | sed 's/ $//')"
cp own/red/0.png own/blue/19.png .
"${caption}" --run=own 0.png 19.png >out
expect 'sentences of images of other sizes' 2 "$(grep -c '^a picture of' out)"
mv own/list.tsv own/blue own/red .
expect 'a sentence without the data' "$(cat out)" \
  "$("${caption}" --run=own 0.png 19.png)"
expect 'classes without the data' 'red blue' \
  "$("${predict}" --run=colors 0.png 19.png | tr '\n' ' ' | sed 's/ $//')"
"${inspect}" --run=own 0.png --json >out
expect_in out '"site":'
fails 'examples without the data' 'own' \
  "${predict}" --run=colors --example=0

# Trains a captioner with subwords.
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' a picture of red blue square in \
  '##s' >vocab.txt
mkdir images
cp 0.png 19.png images
printf '0.png\tA red square\n19.png\tA blue square\n0.png\tA square in Red\n' \
  >images/list.tsv
run pieces captions \
  --set "data.captions={list: 'images/list.tsv' format: ${format}
    dev_fraction: 0 test_fraction: 0.5}" \
  --set 'model.captioner.tokens={vocabulary: "vocab.txt"}' \
  --set training.batch_size=1
expect 'the vocabulary is kept' "$(cat vocab.txt)" "$(cat pieces/vocab.txt)"
"${caption}" --run=pieces --prompt='A Picture of' --length=2 0.png >out
expect 'the prompt as the tokenizer reads it' 1 "$(grep -c '^a picture of' out)"
"${caption}" --run=pieces --prompt='a zebra' 0.png >out 2>err
expect 'a word without pieces' "note: the model does not know 'zebra'" \
  "$(grep know err)"
"${caption}" --run=pieces --inspect 0.png >out 2>err
expect_in pieces/caption_1.html '[DEC]' '[SEP]'

# Captions of a BLIP model folder must equal the captions of transformers.
grep 'A picture of	1	' "${blip}/captions.txt" >wanted
mapfile -t files < <(cut -f 3 wanted | sed "s#^#${blip}/#")
"${caption}" --model="${blip}" --length=14 --prompt='A picture of' "${files[@]}" \
  >out
expect 'what transformers writes' "$(cut -f 4 wanted)" "$(cat out)"
"${caption}" --run="${blip}" --inspect "${files[1]}" >out 2>err
expect_in err 'Page  '
expect_in caption_1.html '[DEC]' '>Gradients<' \
  "<h1>$(basename "${blip}"): inspection"
"${export}" --run="${blip}" copy >/dev/null
"${caption}" --run=copy "${files[1]}" >of_copy
expect 'the same of the copy' "$(cat out)" "$(cat of_copy)"
"${predict}" --run=copy "${files[1]}" >predicted
expect 'the answer without the prompt' "$(cat out)" \
  "a picture of $(cat predicted)"
printf 'rgb.png\ta cat on the mat\ngrey.png\tred dogs\n' >copy/list.tsv
cp "${blip}"/*.png copy
"${evaluate}" --run=copy --set data.captions.list=copy/list.tsv >out
expect_in out 'test/bleu' 'test/loss'
fails 'a folder without data' 'error: data.captions.list names no file' \
  "${evaluate}" --run=copy
cat >tune.textproto <<TEXTPROTO
data { captions { list: "copy/list.tsv" dev_fraction: 0 test_fraction: 0 } }
search { max_length_ratio: 0 max_length: 21 }
optimizer { sgd {} learning_rate: 1e-30 }
training { epochs: 1 initial_weights { run: "copy" } }
TEXTPROTO
quietly "${train}" --config=tune.textproto --run=tuned
"${caption}" --run=tuned "${files[1]}" >out
expect 'a run that began with the folder' "$(cat of_copy)" "$(cat out)"
expect_in tuned/resolved.textproto 'ids: 22  # copy, as a config:'
"${export}" --run=tuned tuned_copy >/dev/null
expect 'and is a folder again' "$(cat of_copy)" \
  "$("${caption}" --run=tuned_copy "${files[1]}")"
fails 'other letters' 'must match copy/tokenizer_config.json' "${train}" \
  --config=tune.textproto --run=none \
  --set model.captioner.tokens.lower_case=false
fails 'other sizes' 'is missing' "${train}" --config=tune.textproto --run=none \
  --set model.captioner.decoder.layers=3
sed -i 's/"hidden_act": "gelu"/"hidden_act": "mish"/' copy/config.json
fails 'an activation that is not there' 'hidden_act' "${caption}" --run=copy 0.png
fails 'a captioner of words' 'captions of subwords' "${export}" --run=own none
mkdir other
mv red other/red
cp -r blue other/green
fails 'a class that the run lacks' "the model does not know class 'green'; it knows" \
  "${evaluate}" --run=colors --set data.images.path=other
