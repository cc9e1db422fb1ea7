#!/bin/bash
# Trains a language model with state mixers, then runs all programs that support
# such a run.

source experiments/testing.sh

regard="${runfiles}/$1"
config="${runfiles}/$2"

transformer=model.language_model.transformer
small=(--config="${config}" --set data.grammar.train=200
  --set data.grammar.dev=10 --set data.grammar.test=10
  --set "${transformer}.width=16" --set "${transformer}.mixer.retention.heads=2"
  --set "${transformer}.pattern=[{}, {mixer {gated_linear {heads: 2}}}]"
  --set training.epochs=8 --set training.checkpoint_every=3
  --set training.keep_checkpoints=4 --set training.log_every=1)
quietly "${regard}" train --run=run --threads=1 "${small[@]}"
quietly "${regard}" train --run=two --threads=2 "${small[@]}"
expect 'one thread and two' "$(digest run)" "$(digest two)"

# Kills the training after its first checkpoint. Tries again if the training
# finished before the kill.
for _ in 1 2 3 4 5; do
  rm -rf killed
  "${regard}" train --run=killed --threads=2 "${small[@]}" >log 2>&1 &
  until compgen -G 'killed/checkpoints/step-*/manifest.json' >/dev/null; do
    kill -0 $!
    sleep 0.02
  done
  kill -KILL $! || true
  wait $! || true
  grep -q finished killed/status.json || break
done
expect 'killed' '' "$(grep -o finished killed/status.json)"
quietly "${regard}" train --resume --run=killed --threads=1
expect 'killed and resumed' "$(digest run)" "$(digest killed)"

# Greedy search, a beam of one, and a batch must give the same text.
text() { "${regard}" generate --run=run --length=30 "$@" 2>/dev/null; }
expect 'a beam of one' "$(text --top_k=1 'the cat' a)" \
  "$(text --beam=1 'the cat' a)"
expect 'a sample in a batch' "$(text 'the cat')" \
  "$(text a 'the cat' 'two' | sed -n 2p)"

# The maps of `inspect` must be exact.
"${regard}" inspect --run=run 'the cat' --target=' sees' --out=page.html \
  --arrays=maps.safetensors >out 2>err
expect_in out 'mean over heads of decoder/layers[*]/self/attention/weights' \
  'shades show magnitudes' 'log p of s'
expect_in err 'note: decoder has no rollout, because some of its weights are '
expect_in page.html 'decoder/layers[1]/self/attention/weights' '>Heads<' '<svg'
"${regard}" inspect --run=run 'the cat' --out=head.svg --layer=1 --head=1 >out
expect_in head.svg '>head 1<'
"${regard}" replay --run=run --from=53 --to=54 --site='*/self/attention/*' \
  --out=seen.safetensors 2>err
expect_in err ' of metrics.jsonl and the weights of step '
python3 - <<'END' || expect 'maps' exact 'see above'
import array, json, struct

def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            numbers = array.array("f", data[8 + size + begin:8 + size + end])
            yield name, (entry["shape"], numbers)

maps = {name: tensor for name, tensor in tensors("maps.safetensors")
        if name.startswith("decoder/")}
assert len(maps) == 2, list(maps)
for name, ((heads, rows, columns), weights) in maps.items():
    assert heads == 2 and rows == columns, name
    later = [weights[i] for i in range(len(weights))
             if i % columns > i // columns % rows]
    assert later and not any(later), name
    assert min(weights) < 0 < max(weights), name

seen = dict(tensors("seen.safetensors"))
shown = [name for name in seen if name.endswith("/weights")]
assert len(shown) == 2 * 2 * 2, list(seen)
for name in shown:
    (batch, heads, time, _), weights = seen[name]
    shape, values = seen[name.replace("/weights", "/values")]
    width = shape[3]
    contexts = seen[name.replace("/weights", "/context")][1]
    largest = max(map(abs, contexts))
    for i, context in enumerate(contexts):
        row, column = divmod(i, width)
        head, query = divmod(row, time)
        exact = sum(weights[row * time + key] *
                    values[(head * time + key) * width + column]
                    for key in range(query + 1))
        assert abs(exact - context) < 1e-5 * largest, (name, i, exact, context)
END

# Interventions change a trained model. If the output of a head is replaced by
# zeros, its map must be zero.
loss() { # loss INTERVENTION: prints dev/loss
  "${regard}" evaluate --run=run --json --set "intervene={$1}" 2>/dev/null |
    grep -o '"dev/loss":[0-9.e-]*' | head -n 1 | cut -d: -f2
}
plain="$(loss "site: '*/context' replace {scale: 1}")"
expect 'no change' "${plain}" "$(grep -o '"dev/loss":[0-9.e-]*' run/status.json |
  cut -d: -f2)"
zeroed="$(loss "site: '*/context' head: 1 replace {scale: 0}")"
expect 'a head without a map' '' "$(awk -v a="${zeroed}" -v b="$(
  loss "site: '*/weights' head: 1 replace {zeros {}}")" -v plain="${plain}" \
  'BEGIN { d = (a - b) / a; if (d * d > 1e-10 || a == plain) print a, b }')"
expect 'each changes the loss' 6 "$({
  echo "${plain}"
  echo "${zeroed}"
  loss "site: '*/weights' replace {uniform {}}"
  loss "site: '*/weights' replace {permuted {}}"
  loss "site: '*/layers[0]/self/attention/values' replace {mean {}}"
  loss "site: '*/layers[1]/self/residual' replace {input {}}"
} | sort -u | grep -c .)"
fails 'a head that is not there' \
  "'decoder/layers[0]/self/attention/weights' has 2 heads; \`head\` must be less" \
  "${regard}" evaluate --run=run \
  --set "intervene={site: '*/weights' head: 2 replace {zeros {}}}"
fails 'a mean of maps' 'cannot be replaced by a mean: its keys differ' \
  "${regard}" evaluate --run=run \
  --set "intervene={site: '*/weights' replace {mean {}}}"
fails 'scores, of which a state mixer has none' \
  "no hook point (site) of this model matches '*/scores'" \
  "${regard}" evaluate --run=run \
  --set "intervene={site: '*/scores' replace {zeros {}}}"

# Patches with values of another input. Values of the same input must change
# nothing.
patch() { # patch SITE FROM: prints the sum of absolute changes
  "${regard}" inspect --run=run 'the cat' --patch="$1" --from="$2" --json |
    grep -o '"changes":\[[^]]*\]' | tr -c '0-9.e\n-' ' ' |
    awk '{ for (i = 1; i <= NF; ++i) sum += $i < 0 ? -$i : $i + 0 }
      END { print (sum > 1e-3 ? "changed" : sum == 0 ? "nothing" : "little") }'
}
for site in weights values context; do
  expect "a patch of ${site}" 'changed nothing' \
    "$(patch "*/attention/${site}" 'the dog') $(
      patch "*/attention/${site}" 'the cat')"
done

# Tests other programs with the run.
quietly "${regard}" average --run=run --last=1 --out=one
expect 'the mean of one' "$(digest run)" "$(digest one)"
quietly "${regard}" average --run=run --last=3 --out=three
"${regard}" plan "${small[@]}" >out
expect_in out layers.0.mixer.query layers.1.mixer.narrow_decay activations
fails 'an export' 'error: GPT-2 requires subwords' \
  "${regard}" export --run=run hugging_face
