#!/bin/bash
# Uses model folders of Vision Transformers as scripts do, and fine-tunes one.

source experiments/testing.sh

train="${runfiles}/$1"
predict="${runfiles}/$2"
evaluate="${runfiles}/$3"
inspect="${runfiles}/$4"
export="${runfiles}/$6"
cp -rL "${runfiles}/$5" testdata
chmod -R u+w testdata
mv testdata/vit testdata/timm testdata/vit_headless testdata/image.png .

# Predictions must have the class and the probability of the reference library.
for name in vit timm; do
  "${predict}" --run="${name}" --json image.png >out
  expect "the probabilities of ${name}" '' "$(
    grep -o '"probability":[^}]*' out | cut -d : -f 2 | sort -g |
      paste - <(sed -n 's/^probabilities 1 3 //p' "${name}/values.txt" |
        tr ' ' '\n' | sort -g) |
      awk '{ d = $1 - $2; if (!($1 > 0 && d * d < 1e-10)) print }')"
done
class="$("${predict}" --run=vit image.png)"
expect 'a class by its name' 1 \
  "$(grep -cE '^(tabby cat|dog|café)$' <<<"${class}")"
"${inspect}" --run=timm --out=page.html image.png >/dev/null
expect_in page.html 'data:image/png;base64' '</html>'

# Labelled images, in folders named after the classes.
mkdir -p "photos/tabby cat" photos/dog
for i in 1 2 3; do
  cp image.png "photos/${class}/${i}.png" 2>/dev/null ||
    { mkdir -p "photos/${class}" && cp image.png "photos/${class}/${i}.png"; }
done
base64 -d >photos/dog/black.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAA
AABJRU5ErkJggg==
PNG
cp photos/dog/black.png 'photos/tabby cat/'
"${evaluate}" --run=vit --set data.path=photos >out
expect_in out 'test/accuracy' 'test/loss'
fails 'no images' 'data.path names no folder of images' \
  "${evaluate}" --run=vit
mkdir -p owls/owl owls/dog
cp image.png owls/owl
cp image.png owls/dog
fails 'a class that the model does not know' "the model does not know class 'owl'" \
  "${evaluate}" --run=vit --set data.path=owls

# A model that was exported and read again must give the same probabilities.
"${export}" --run=vit copy >/dev/null
expect 'a copy' "$("${predict}" --run=vit --json image.png)" \
  "$("${predict}" --run=copy --json image.png)"

# Training can begin with a folder. For other classes, the classification head
# is new.
cat >tuned.textproto <<'END'
# proto-file: experiments/experiment.proto
# proto-message: regard.Experiment
data {
  images {
    path: "photos"
    dev_fraction: 0
    test_fraction: 0
  }
}
model { vision_transformer { transformer { norm { bias: true } } } }
training {
  epochs: 0
  batch_size: 2
  initial_weights { run: "vit" }
}
optimizer { adam {} learning_rate: 0.01 }
END
"${train}" --config=tuned.textproto --run=other --set data.images.path=owls \
  >/dev/null 2>err
expect_in err "vit has no 'head.weight' for this task, which starts from its"
mkdir -p 'photos/café'
cp image.png 'photos/café/4.png'
cp 'photos/dog/black.png' 'photos/dog/5.png'
"${train}" --config=tuned.textproto --run=same >/dev/null 2>err
expect 'the same classes have a head' 0 "$(grep -c 'has no' err || true)"
expect 'whose rows are those of the names' "${class}" \
  "$("${predict}" --run=same image.png)"
expect_in same/resolved.textproto 'red: 0.485  # vit, as a config:' \
  'hidden: 12  # vit, as a config:' 'bias: true  # tuned.textproto:'
quietly "${train}" --config=tuned.textproto --run=timm_tuned \
  --set training.initial_weights.run=timm
fails 'images of another size' "'vit.embeddings.position_embeddings' is" \
  "${train}" --config=tuned.textproto --run=none \
  --set data.images.format.height=12
quietly "${train}" --config=tuned.textproto --run=tuned \
  --set training.epochs=30
expect 'an image that was learned' "$(basename "$(dirname "$(
  find photos -name 1.png)")")" "$("${predict}" --run=tuned image.png)"
"${export}" --run=tuned written >/dev/null
expect 'what was written is the run' \
  "$("${predict}" --run=tuned --json image.png)" \
  "$("${predict}" --run=written --json image.png)"
sed -i 's/bias: true/bias: false/' tuned.textproto
fails 'a norm without a bias' "'vit.layernorm.bias' does not belong" \
  "${train}" --config=tuned.textproto --run=none

# Training can begin with a folder without a head, but predictions must fail.
fails 'no head' "the tensor 'classifier.weight', F32 [2, 6], is missing" \
  "${predict}" --run=vit_headless image.png
sed -i 's/"num_attention_heads": 2/"num_attention_heads": 0/' vit/config.json
for program in "${predict}" "${evaluate}" "${inspect}"; do
  fails 'no heads' 'vit/config.json:' "${program}" --run=vit
done
sed -i 's/"height": 8/"height": 9/' copy/preprocessor_config.json
fails 'images of another size' \
  'copy/preprocessor_config.json:' "${predict}" --run=copy image.png
