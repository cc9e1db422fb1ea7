#!/bin/bash
# Trains a small model of each kind, then inspects its attention.

source experiments/testing.sh

train="${runfiles}/$1"
inspect="${runfiles}/$2"
configs="${runfiles}/$3"
bert="${runfiles}/$4"

config="${configs}/phrasebook.textproto"
small=(--set data.phrasebook.train=600 --set data.phrasebook.dev=10
  --set data.phrasebook.test=10 --set data.phrasebook.test_unseen_pairs=10
  --set training.epochs=2 --set model.encoder.hidden=16
  --set model.decoder.hidden=16)
quietly "${train}" --config="${config}" --run=run "${small[@]}"

# Inspects the first pair of every phrasebook, whose alignment is known.
"${inspect}" --run=run --source='They are watching.' \
  --target='ils regardent .' >out 2>err
expect 'no notes' '' "$(cat err)"
expect_in out 'ils regardent .' watching regardent entropy 'log p of the whole' \
  'alignment error rate' 'largest gain' 'run/inspect.html'
expect_in run/inspect.html '<svg' 'watching' 'regardent' 'alignment error rate' \
  'gradient of each word' '>Heads<' '>Inputs<'
expect 'a page that asks no host' 0 "$(grep -c 'src="http' run/inspect.html)"

# Inspects a sentence without a gold alignment, with the model's own
# translation. Writes the page to another file.
"${inspect}" --run=run 'zebra they' --out=page.html --beam=2 >out 2>err
expect_in err "does not know 'zebra'"
expect_in out 'no gold alignment is known' zebra page.html
expect_in page.html '<svg'

# Writes figures or JSON instead of the page, or no file.
rm run/inspect.html
"${inspect}" --run=run they --target=ils --json >object
expect 'no page' 'object' "$(ls run/inspect.html object 2>/dev/null)"
"${inspect}" --run=run they --target=ils --out=object.json >out
expect 'the file' 'Page  object.json' "$(tail -n 1 out)"
cmp object object.json || failures=$((failures + 1))
"${inspect}" --run=run they --target=ils --out=figures.svg >out
expect 'an image' '<svg xmlns=' "$(head -c 11 figures.svg)"
expect_in figures.svg '>ils</text>'

# Writes figures of one layer or head. Lists the hook points.
"${inspect}" --run=run they --target=ils --out=figures.svg --layer=0 --head=0 \
  >out
expect_in figures.svg '>step[*]/decoder/attention/weights<' '>head 0<'
fails 'a head that is not there' \
  'error: --head=1: must be less than 1, the number of heads' \
  "${inspect}" --run=run they --out=figures.svg --head=1
"${inspect}" --run=run they --target=ils --head=0 --json >out 2>err
expect_in err 'note: --layer and --head have no effect'
"${inspect}" --run=run --sites >out
expect_in out 'site  ' 'step[*]/decoder/attention/weights  ' \
  'encoder/embedded  '
"${inspect}" --run=run --sites 'they are watching .' --target='ils regardent .' \
  --json >out
expect_in out '{"sites":[{"site":"' \
  '{"site":"step[*]/decoder/attention/weights","shape":[1,1,1,5]}'

# Row statistics must also work for an input that is too long for the page.
"${inspect}" --run=run --rows 'they are watching .' --target='ils regardent .' \
  >out
expect_in out 'attention  ' '  entropy  top key  key 0  last 64' \
  'step[*]/decoder/attention/weights  0  '
"${inspect}" --run=run --rows --window=2 --json they --target=ils >out
expect_in out '{"window":2,"rows":[{"site":"step[*]/decoder/attention/weights","heads":[{"sum":['
expect_in out '],"entropy":[' '],"top_key":[' '],"window":['
"${inspect}" --run=run --rows --source="$(printf 'they %.0s' $(seq 101))" \
  --target=ils >out
expect_in out 'step[*]/decoder/attention/weights  0  '
"${inspect}" --run=run --rows they --out=rows.html >out 2>err
expect_in err 'note: --out, --arrays, --patch and --output have no effect with'
expect 'no page of rows' '' "$(ls rows.html 2>/dev/null)"
"${inspect}" --run=run they --target=ils --window=3 --json >out 2>err
expect_in err 'note: --window has no effect'

fails_when_full 'a report' "${train}" --run=run --resume
fails_when_full 'an alignment' "${inspect}" --run=run --source=they
fails_when_full 'heads' "${inspect}" --model="${bert}" --source=the
fails 'no run' '--run=DIR must name' "${inspect}" --source=they
fails 'two texts' 'exactly one INPUT is required, got 2' \
  "${inspect}" --run=run --source=they watching
fails 'no source' 'input: requires 1 to 100 tokens, got 0' \
  "${inspect}" --run=run
fails 'a long source' 'got 101' \
  "${inspect}" --run=run --source="$(printf 'a %.0s' $(seq 101))"
fails 'an empty target' 'error: --target: requires 1 to 100 tokens, got 0' \
  "${inspect}" --run=run --source=they --target=' '
fails 'an output beyond' 'error: --output=4: must be less than 4, the number of outputs' \
  "${inspect}" --run=run they --target='ils regardent .' --output=4
fails 'an example and a text' 'cannot be given together; remove one of them' \
  "${inspect}" --run=run they --example=0
fails 'no such example' 'error: --example=10: the index of an example must be less than 10, the number of examples; got 10' \
  "${inspect}" --run=run --example=10
fails 'half a patch' '--patch=SITE and --from=INPUT must be given together' \
  "${inspect}" --run=run they --patch='*'
fails 'the other half' '--patch=SITE and --from=INPUT must be given together' \
  "${inspect}" --run=run they --from=he

# Patching with values of the same input must change nothing.
"${inspect}" --run=run 'they are watching .' --from='they are watching .' \
  --patch='*state' --json >out
expect 'no change' '' "$(grep -o '"changes":\[[^]]*\]' out | grep '[1-9]')"
expect_in out '"patch":{"from":"they are watching ."' \
  '"site":"encoder/' '"site":"step[*]/decoder/'
"${inspect}" --run=run 'they are watching .' --from='i am sad .' \
  --patch='encoder/embedded' --out=patch.html --arrays=patch.safetensors >out
expect_in patch.html '>Patch<' 'encoder/embedded'
expect_in patch.safetensors '"patch/encoder/embedded"' \
  '"step[*]/decoder/attention/weights"' '"gradient/step[*]/decoder/'
fails 'another shape' "--patch: 'encoder/embedded' is [1, 5, " \
  "${inspect}" --run=run 'they are watching .' --from='i am .' \
  --patch=encoder/embedded
fails 'no such site' "no hook point (site) of this model matches '*/sate'; the nearest is" \
  "${inspect}" --run=run they --from=they --patch='*/sate'

# --explain must fail for two reasons: each decoder step has its own attention
# weights, and the model has no residual stream.
fails 'each step is an attention' \
  "error: --explain: '*' matches 2 attentions; give one, such as 'step[0]/decoder/attention/weights'" \
  "${inspect}" --run=run they --target=ils --explain='*'
fails 'a recurrent model' "error: --explain: the queries of 'step[0]/decoder/attention' are not computed from the residual stream of a Transformer" \
  "${inspect}" --run=run they --target=ils --explain='step[0]*'
fails 'an explanation in a file' '--explain cannot be combined with --sites, --patch, --out or --arrays' \
  "${inspect}" --run=run they --explain='*' --out=page.html
"${inspect}" --run=run they --target=ils --key=0 --json >out 2>err
expect_in err 'note: --query and --key have no effect'

quietly "${train}" --config="${config}" --run=blind "${small[@]}" \
  --set model.decoder.context=LAST_STATE
"${inspect}" --run=blind --source=they --target=ils >out
expect_in out 'log p of the whole'
expect_in blind/inspect.html '>Inputs<'

# Inspects the heads of a BERT. The page must be in the working directory.
"${inspect}" --model="${bert}" --source='the cat' >out 2>err
expect 'no notes of a BERT' '' "$(cat err)"
expect_in out '[CLS] the cat [SEP]' entropy inspect.html
expect_in inspect.html '<svg' 'bert/layers[0]/self/attention/weights' '"heads":[{' '[SEP]' '>Rollout<'
rm inspect.html
"${inspect}" --run="${bert}" 'the cat' >out
expect_in inspect.html 'bert/layers[0]/self/attention/weights'
fails 'hook points without a pass' 'has no training examples; give an INPUT' \
  "${inspect}" --model="${bert}" --sites
"${inspect}" --model="${bert}" --sites 'the cat' >out
expect_in out 'bert/layers[0]/self/attention/context'
"${inspect}" --model="${bert}" --source=$'the cat\tthe' --json >out
expect_in out '"similarity"' '"gradients"'
fails 'two models' 'cannot be given together; remove one of them' \
  "${inspect}" --run=run --model="${bert}" --source=the
for flag in --target=the --beam=2 --output=0 --example=0; do
  fails "${flag} of a BERT" '--target, --beam, --output and --example require --run' \
    "${inspect}" --model="${bert}" "${flag}"
done
fails 'no text' 'expected a text of 3 to 24 tokens, including [CLS] and [SEP]; got 2' \
  "${inspect}" --model="${bert}"
fails 'a long text' 'got 102' \
  "${inspect}" --model="${bert}" --source="$(printf 'a %.0s' $(seq 100))"
fails 'no folder' 'nowhere is neither a run folder' "${inspect}" --model=nowhere --source=the
fails 'nothing to change' '--patch: this input has no output' \
  "${inspect}" --model="${bert}" --source='the cat' --patch='*residual' \
  --from='the dog'
fails 'another output' '--patch: the other input does not have the' \
  "${inspect}" --model="${bert}" --source=$'the cat\tthe' \
  --patch='*residual' --from='the dog'

# The printed terms of an explanation must sum to the score.
explains() { # explains ARGUMENT... -- PART...: PART is in the text.
  local arguments=()
  while [[ "$1" != -- ]]; do arguments+=("$1") && shift; done
  shift
  "${inspect}" "${arguments[@]}" >out
  expect "the sum of ${arguments[*]}" "$(sed -n 's/.*, score //p' out)" \
    "$(awk '$1 == "total" { print $2 }' out)"
  expect_in out "$@"
}
explains --model="${bert}" 'the cat' --explain='*layers[1]*' --head=1 \
  --query=0 --key=2 -- 'bert/layers[1]/self/attention/weights, head 1' \
  "query 0 '[CLS]', key 2 'cat': weight 0." 'bert/token_embedding  ' \
  'bert/position_embedding  ' 'bert/layers[0]/self, head 0  ' \
  'bert/layers[0]/feed_forward  ' 'biases  ' ' other terms  '
"${inspect}" --model="${bert}" 'the cat' --explain='bert/layers[0]/self/*' \
  --head=0 --json >out
expect_in out '{"site":"bert/layers[0]/self/attention/weights","head":0,"query":3,' \
  '"query_label":"[SEP]"' '{"name":"bert/token_embedding","site":"bert/token_embedding","as_query":' \
  '{"name":"biases","as_query":' '"terms":[['
fails 'no such attention' "error: --explain: '*layers[7]*' matches no attention; the attentions of this model are bert/layers[*]/self/attention/weights" \
  "${inspect}" --model="${bert}" 'the cat' --explain='*layers[7]*'
fails 'no head' "error: --head: must be given, because 'bert/layers[0]/self/attention' has 2 heads" \
  "${inspect}" --model="${bert}" 'the cat' --explain='*layers[0]*'
fails 'a head beyond' 'error: --head: must be less than 2, the number of heads; got 2' \
  "${inspect}" --model="${bert}" 'the cat' --explain='*layers[0]*' --head=2

# Inspects all other kinds of models. Checks their input, and the parts of their
# JSON.
run() { # run NAME CONFIG ARGUMENT...: trains.
  quietly "${train}" --config="${configs}/$2.textproto" --run="$1" \
    --set 'baseline.override=[]' --set training.epochs=1 "${@:3}"
}
looks() { # looks NAME ARGUMENT... -- PART...: PART is in JSON and page.
  local arguments=()
  local name="$1"
  shift
  while [[ "$1" != -- ]]; do arguments+=("$1") && shift; done
  shift
  "${inspect}" --run="${name}" "${arguments[@]}" --json --out="${name}.html" \
    >out
  expect_in out '"maps":[{"site":' '"gradients":' '"head_importance":[' \
    '"inputs":[{"site":' "$@"
  expect_in "${name}.html" '>Attention<' '>Heads<' '>Inputs<'
}

run phrases reverse_transformer --set training.examples_per_epoch=64
looks phrases '1 2 3' -- '"site":"encoder/layers[0]/self/attention/weights"' \
  '"site":"decoder/layers[1]/cross/attention/weights"' '"lens":[{"site":"decoder' \
  '"rollout":[{"stack":"encoder"'
expect_in phrases.html '>What each layer would predict<' '>Rollout<' \
  '>Gradients<' '>Self-attention<'

for i in $(seq 60); do echo "Line ${i}: a text in which nothing happens."; done \
  >text
explains --run=phrases '1 2 3' --explain='*[1]/cross*' --head=0 -- \
  'decoder/layers[1]/cross/attention/weights, head 0' \
  'encoder/token_embedding  ' 'decoder/token_embedding  ' \
  'decoder/layers[0]/cross, head 3  '

run letters tiny_shakespeare --set data.path=text \
  --set training.examples_per_epoch=64 \
  --set model.language_model.transformer.width=16 \
  --set model.language_model.transformer.layers=2
looks letters 'Line 1' -- '"chosen":5' '"rollout":[{"stack":"decoder"' \
  '"row":"L","choices":[{"name":"'
looks letters 'Line' --target=' 2:' -- '"name":"2"' '"name":":"' '"chosen":5'
fails 'a long text' 'tokens, got 101' \
  "${inspect}" --run=letters "$(printf 'a%.0s' $(seq 101))"
fails 'an unknown letter' "error: --target: character 1: the model does not" \
  "${inspect}" --run=letters Line --target=Q

# Layers without a feed-forward network must contribute, too.
run attention_only tiny_shakespeare --set data.path=text \
  --set training.examples_per_epoch=64 \
  --set model.language_model.transformer.width=16 \
  --set model.language_model.transformer.layers=2 \
  --set 'model.language_model.transformer.pattern=[{}, {feed_forward {none {}}}]'
looks attention_only 'Line 1' -- \
  '"lens":[{"site":"decoder/layers[0]/feed_forward/residual"' \
  '{"site":"decoder/layers[1]/self/residual"'

run curve nadaraya_watson
looks curve 1.5 -- '"output_unit":"value"' '"name":"value"' \
  '"site":"attention/queries"'
fails 'a target of a curve' \
  "error: --target: applies only to models that write text" \
  "${inspect}" --run=curve 1.5 --target=2

run shapes shapes_vit --set 'data.shapes={train: 100 dev: 10 test: 12}' \
  --set model.vision_transformer.transformer.layers=2
looks shapes --example=3 -- '"rollout":[{"stack":"vision_transformer"' \
  '"row":"the class"'
expect_in shapes.html '>Rollout<' 'data:image/png;base64'
fails 'a text where an image is wanted' \
  "error: input: 'they are': cannot read a PNG or JPEG file" "${inspect}" --run=shapes 'they are'

run pictures captions --set 'data.captions={train: 100 dev: 10 test: 12}' \
  --set model.captioner.vision_transformer.transformer.layers=1 \
  --set model.captioner.decoder.layers=1
looks pictures --example=0 --target='a square' -- '"name":"square"' \
  '"name":"<eos>"' '"stack":"vision_transformer"' '"stack":"decoder"'
expect_in pictures.html 'data:image/png;base64'

run filled grammar_masked_words --set data.grammar.train=200 \
  --set data.grammar.dev=20 --set data.grammar.test=0
looks filled 'the [MASK] that the dog sees [MASK]' --output=1 -- '"chosen":1' \
  '"row":"[MASK] at 2"' '"stack":"bert"'
"${inspect}" --run=filled 'the cat sleeps' >out
expect_in out '[CLS] the cat sleeps [SEP]' \
  'bert/layers[1]/self/attention/weights'

printf 'good\tthe cat sleeps\nbad\tthe cat sleep\ngood\tdogs run\nbad\tdogs runs\n' \
  >labelled
run right grammaticality --set 'data={labelled_text {dev_fraction: 0.5}}' \
  --set data.path=labelled --set training.batch_size=2
looks right 'dogs sleep' --output=0 -- '"outputs":[{"name":"' '"stack":"bert"'
mkdir runs
ln -s ../right runs/latest
"${inspect}" --json 'dogs sleep' >latest 2>err
expect_in err 'note: no --run was given; using the latest run, runs/../right'
expect 'the latest run' "$("${inspect}" --run=right --json 'dogs sleep')" \
  "$(<latest)"
# The last residual must contain the prediction.
"${inspect}" --run=right 'dogs sleep' --from='cats sleep' \
  --patch='bert/embedded' --json >out
expect_in out '"other_value":-' '"labels":["[CLS]",'
