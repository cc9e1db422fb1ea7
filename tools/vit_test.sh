#!/bin/bash
# Uses folders of Vision Transformers as scripts do, and trains one further.

source experiments/testing.sh

train="${runfiles}/$1"
predict="${runfiles}/$2"
evaluate="${runfiles}/$3"
inspect="${runfiles}/$4"
cp -rL "${runfiles}/$5" testdata
chmod -R u+w testdata
mv testdata/vit testdata/timm testdata/vit_headless testdata/image.png .

# The class and the probability that the other library gives.
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

# Labelled images, in folders by the names of the classes.
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
fails 'a class that the model does not know' "the model knows no class 'owl'" \
  "${evaluate}" --run=vit --set data.path=owls

# Written, and read again.
expect 'while it is copied' "${class}" \
  "$("${predict}" --run=vit --save=copy image.png)"
expect 'a copy' "$("${predict}" --run=vit --json image.png)" \
  "$("${predict}" --run=copy --json image.png)"

# A training begins with a folder; with other classes, it has a head of its own.
cat >tuned.textproto <<'END'
# proto-file: experiments/experiment.proto
# proto-message: regard.Experiment
data {
  images {
    path: "photos"
    dev_fraction: 0
    test_fraction: 0
    format {
      height: 8
      width: 8
      filter: BILINEAR
      mean { red: 0.485 green: 0.456 blue: 0.406 }
      deviation { red: 0.229 green: 0.224 blue: 0.225 }
    }
  }
}
model {
  vision_transformer {
    patch: 4
    transformer {
      width: 8
      layers: 2
      attention { heads: 2 }
      feed_forward { hidden: 12 activation: GELU }
      norm { epsilon: 1e-12 }
      position_embedding { kind: LEARNED }
    }
  }
}
training {
  epochs: 0
  batch_size: 2
  initial_weights { run: "vit" }
}
optimizer { adam {} learning_rate: 0.01 }
END
"${train}" --config=tuned.textproto --run=other --set data.images.path=owls \
  >/dev/null 2>err
expect_in err "vit has no 'head.weight' of this task, which begins with its"
mkdir -p 'photos/café'
cp image.png 'photos/café/4.png'
cp 'photos/dog/black.png' 'photos/dog/5.png'
"${train}" --config=tuned.textproto --run=same >/dev/null 2>err
expect 'the same classes have a head' 0 "$(grep -c 'has no' err || true)"
expect 'whose rows are those of the names' "${class}" \
  "$("${predict}" --run=same image.png)"
quietly "${train}" --config=tuned.textproto --run=tuned \
  --set training.epochs=30
expect 'an image that was learned' "$(basename "$(dirname "$(
  find photos -name 1.png)")")" "$("${predict}" --run=tuned image.png)"
expect 'what was written is the run' \
  "$("${predict}" --run=tuned --save=written --json image.png)" \
  "$("${predict}" --run=written --json image.png)"
sed -i 's/epsilon: 1e-12/& bias: false/' tuned.textproto
fails 'a norm without a bias' "'vit.layernorm.bias' is none" \
  "${train}" --config=tuned.textproto --run=none

# A folder without a head gives a training what it has, and no answer.
fails 'no head' "no tensor 'classifier.weight', F32 [2, 6] wanted" \
  "${predict}" --run=vit_headless image.png
sed -i 's/"num_attention_heads": 2/"num_attention_heads": 0/' vit/config.json
for program in "${predict}" "${evaluate}" "${inspect}"; do
  fails 'no heads' 'vit/config.json:' "${program}" --run=vit
done
sed -i 's/"height": 8/"height": 9/' copy/preprocessor_config.json
fails 'images of another size' \
  'copy/preprocessor_config.json:' "${predict}" --run=copy image.png
fails 'what is no classifier' '--save writes classifiers of images' \
  "${predict}" --run="${runfiles}/$6" --save=none 'the cat'
