#!/bin/bash
# Tests `attend` on given arrays. docs/worked_examples.md has more examples.

source experiments/testing.sh

attend="${runfiles}/$1"

cat >arrays.json <<'END'
{"queries": [[1, 0, 2, 0]],
 "keys": [[0, 1, 1, 5], [4, 4, 0, 5], [9, 9, 9, 9]],
 "values": [[1, 2], [2, 8], [7, 7]],
 "key_lengths": 2}
END
arrays=(--attention='dot {}' --arrays=arrays.json)

# The scores are 2 and 4, so the first weight must be 1 / (1 + e^2).
"${attend}" "${arrays[@]}" >out
expect 'one head' 'scores [1, 3]
  2  4  -
weights [1, 3]
  0.1192  0.8808       0
context [1, 2]
  1.8808  7.2848' "$(<out)"
# The heads have width 2. The scores of the two visible keys must be 0 and 4 in
# the first head, and 2 and 0 in the second.
"${attend}" "${arrays[@]}" --heads=2 --digits=3 >out
expect 'two heads' 'scores [2, 1, 3]
 [0]
  0  4  -
 [1]
  2  0  -
weights [2, 1, 3]
 [0]
  0.018  0.982      0
 [1]
  0.881  0.119      0
head_context [2, 1, 1]
 [0]
  1.98
 [1]
  2.72
context [1, 2]
  1.98  2.72' "$(<out)"
"${attend}" "${arrays[@]}" --json >out
expect_in out '{"scores":[[2,4,null]],' '"shapes":{"scores":[1,3],"weights":' \
  '"context":[[1.88079707797' '"weights":[[0.11920292202'
"${attend}" --arrays=arrays.json --attention='location_aware {}' >out 2>err
expect_in out 'weights [1, 3]'
expect_in err 'LocationAwareScore reads the weights of earlier queries'

# With projections, the inputs have widths 4, 4 and 2. The two heads have
# width 2.
multi_head='heads: 2 attention { scaled_dot {} }'
shapes='scores [2, 1, 3]
weights [2, 1, 3]
head_context [2, 1, 2]
output [1, 4]'
"${attend}" --multi_head="${multi_head}" --arrays=arrays.json >first
expect 'multi-head shapes' "${shapes}" "$(grep '^[a-z]' first)"
"${attend}" --multi_head="key_heads: 1 ${multi_head}" --arrays=arrays.json >out
expect 'grouped heads' "${shapes}" "$(grep '^[a-z]' out)"
# With latents, keys and values must be the same array.
latent="latent { rank: 3 } ${multi_head}"
sed 's/"values".*/"values": [[0, 1, 1, 5], [4, 4, 0, 5], [9, 9, 9, 9]],/' \
  arrays.json >one_input.json
"${attend}" --multi_head="${latent}" --arrays=one_input.json >out
expect 'latents' "${shapes}" "$(grep '^[a-z]' out)"
sed '/"values"/s/0, 1/1, 1/' one_input.json >two_inputs.json
fails 'latents of two inputs' 'computes keys and values from one input' \
  "${attend}" --multi_head="${latent}" --arrays=two_inputs.json
fails 'latents of two widths' \
  '--multi_head:1:1: error: latent: requires keys and values of one input' \
  "${attend}" --multi_head="${latent}" --arrays=arrays.json
"${attend}" --multi_head="output_width: 5 ${multi_head/2/1}" \
  --arrays=arrays.json >out
expect 'one head, another width' 'scores [1, 1, 3]
weights [1, 1, 3]
head_context [1, 1, 4]
output [1, 5]' "$(grep '^[a-z]' out)"
"${attend}" --multi_head="${multi_head}" --arrays=arrays.json --seed=2 >out
! cmp -s first out || expect 'seeds' 'other parameters' 'the same'
# Without biases, twice the values must give twice the output and equal weights.
sed 's/"values".*/"values": [[2, 4], [4, 16], [7, 7]],/' arrays.json >twice.json
for file in arrays twice; do
  "${attend}" --multi_head="bias: false ${multi_head}" --arrays="${file}.json" \
    --json >"${file}.out"
done
python3 - arrays.out twice.out <<'END' || expect 'values' 'linear' 'not'
import json, re, sys
once, twice = (json.load(open(path)) for path in sys.argv[1:])
assert twice["weights"] == once["weights"]
for name in ("head_context", "output"):
    numbers = [[float(number) for number in re.findall(r"[^][, ]+", str(run[name]))]
               for run in (once, twice)]
    assert len(numbers[0]) == 4
    for a, b in zip(*numbers):
        assert a != 0 and abs(b - 2 * a) < 1e-12 * abs(b), (name, a, b)
END

# Tests a mask that masks the same keys as key_lengths, and a mask that
# key_lengths cannot express.
for form in '[[1, 1, 0]]' '[1, 1, 0]'; do
  sed "s/\"key_lengths\": 2/\"mask\": ${form}/" arrays.json >masked.json
  for flag in --attention='dot {}' --multi_head="${multi_head}"; do
    "${attend}" "${flag}" --arrays=arrays.json >lengths
    "${attend}" "${flag}" --arrays=masked.json >out
    expect "the mask ${form} of ${flag}" "$(<lengths)" "$(<out)"
  done
done
sed 's/"key_lengths": 2/"mask": [0, 1, 0]/' arrays.json >masked.json
"${attend}" --attention='dot {}' --arrays=masked.json >out
expect 'a mask' 'scores [1, 3]
  -  4  -
weights [1, 3]
  0  1  0
context [1, 2]
  2  8' "$(<out)"

"${attend}" "${arrays[@]}" >of_file
"${attend}" --attention='dot {}' --arrays=- <arrays.json >out
expect 'standard input' "$(<of_file)" "$(<out)"
fails 'what standard input lacks' 'standard input:1:1: error: queries is missing' \
  bash -c "echo '{}' | '${attend}' --attention='dot {}' --arrays=-"

# Safetensors files may have any element type that Python writes.
python3 - <<'END'
import json, struct
tensors = {"queries": ("F64", [1, 1, 1], struct.pack("<d", 2)),
           "keys": ("F32", [1, 2, 1], struct.pack("<2f", 1, 0.5)),
           "values": ("I32", [1, 2, 1], struct.pack("<2i", 3, 9)),
           "key_lengths": ("I64", [1], struct.pack("<q", 1))}
header, data = {}, b""
for name, (dtype, shape, values) in tensors.items():
    header[name] = {"dtype": dtype, "shape": shape,
                    "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
with open("arrays.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
header["key_lengths"]["shape"] = []
header["more"] = header.pop("values")
text = json.dumps(header).encode()
with open("more.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
END
"${attend}" --attention='dot {}' --arrays=arrays.safetensors >out
expect 'safetensors' 'scores [1, 1, 2]
 [0]
  2  -
weights [1, 1, 2]
 [0]
  1  0
context [1, 1, 1]
 [0]
  3' "$(<out)"

fails_with() { # fails_with WHAT PART ATTENTION JSON
  echo "$4" >wrong.json
  fails "$1" "$2" "${attend}" --attention="$3" --arrays=wrong.json
}
ok='"keys": [[1, 2], [3, 4]], "values": [[1], [2]]'
fails_with 'NaN' 'wrong.json:1:15: error: NaN is not a JSON number' 'dot {}' \
  "{\"queries\": [[NaN, 1]], ${ok}}"
fails_with 'a ragged list' 'wrong.json:1:13: error: queries[1] is a list of 1 '\
'elements; a list of 2 elements is required' 'dot {}' "{\"queries\": [[1, 1], [1]], ${ok}}"
fails_with 'a text' 'queries[0][1] is "x"; a number is required' 'dot {}' \
  "{\"queries\": [[1, \"x\"]], ${ok}}"
fails_with 'a depth' 'keys has the shape [1, 1, 2]; 2 axes are required' \
  'dot {}' '{"queries": [[1, 1]], "keys": [[[1, 1]]], "values": [[1]]}'
fails_with 'no axis' 'queries has the shape [2]; [queries, width] or [batch' \
  'dot {}' "{\"queries\": [1, 1], ${ok}}"
fails_with 'nothing' 'queries has the shape [1, 0]; at least one number' \
  'dot {}' "{\"queries\": [[]], ${ok}}"
fails_with 'the batch' 'keys has the shape [2, 1, 1]; the batch size must be 1' \
  'dot {}' '{"queries": [[[1]]], "keys": [[[1]], [[1]]], "values": [[[1]]]}'
fails_with 'values' "wrong.json:1:58: error: values must have one row per key" \
  'dot {}' '{"queries": [[1, 1]], "keys": [[1, 1], [1, 1]],"values": [[1]]}'
fails_with 'a length' 'error: key_lengths is 3; a whole number from 0 to 2, '\
'the number of keys, is required' 'dot {}' \
  "{\"queries\": [[1, 1]], ${ok}, \"key_lengths\": 3}"
fails_with 'a length per query' 'key_lengths[0] is 0.5; a whole number' \
  'dot {}' "{\"queries\": [[1, 1]], ${ok}, \"key_lengths\": [0.5]}"
fails_with 'lengths' \
  'key_lengths has the shape [3]; it must be one number or [queries] = [1]' \
  'dot {}' "{\"queries\": [[1, 1]], ${ok}, \"key_lengths\": [1, 1, 1]}"
fails_with 'a mask' \
  'mask has the shape [3]; it must be [keys] = [2] or [queries, keys] = [1, 2]' \
  'dot {}' "{\"queries\": [[1, 1]], ${ok}, \"mask\": [1, 1, 1]}"
fails_with 'a mask against lengths' 'mask[0][1] is 1, but key_lengths is 1 '\
'there and masks this key; write 0, or give only `mask` or only `key_lengths`' 'dot {}' \
  "{\"queries\": [[1, 1]], ${ok}, \"key_lengths\": 1, \"mask\": [[1, 1]]}"
fails_with 'an unknown name' "no array 'querys'; did you mean 'queries'?" \
  'dot {}' "{\"querys\": [[1, 1]], ${ok}}"
expect_in err 'error: queries is missing'
fails_with 'widths' '--attention:1:1: error: dot: this score requires a query and a key of' \
  'dot {}' "{\"queries\": [[1, 1, 1]], ${ok}}"
expect_in err '^~~'
fails_with 'an unknown score' '--attention:1:1: error: no field' 'dott {}' \
  "{\"queries\": [[1, 1]], ${ok}}"
expect_in err "did you mean 'dot'?"
fails_with 'a gate without the input of a layer' \
  '--attention:1:8: error: forget: requires an attention that has the input' \
  'dot {} forget {}' "{\"queries\": [[1, 1]], ${ok}}"
fails_with 'no score' 'error' 'dropout: 0.5' "{\"queries\": [[1, 1]], ${ok}}"
fails_with 'distances' 'up to 1 positions apart, but this attention supports at most 0' \
  'relative_dot { max_position: 1 }' "{\"queries\": [[1, 1]], ${ok}}"
fails_with 'what overflows' 'the context is not finite' 'dot {}' \
  "{\"queries\": [[1e200, 1e200]], \"keys\": [[1e200, -1e200]], \
  \"values\": [[1]]}"
fails 'heads' 'error: --heads=3 must divide 4, the width of `queries`' \
  "${attend}" "${arrays[@]}" --heads=3
fails_multi_head() { # fails_multi_head WHAT PART MULTI_HEAD [FLAG]
  fails "$1" "$2" "${attend}" --multi_head="$3" --arrays=arrays.json "${@:4}"
}
fails_multi_head 'heads of a layer' '--multi_head:1:1: error: heads: must divide '\
'the width of the queries' 'heads: 3 attention { scaled_dot {} }'
fails_multi_head 'a layer without a score' \
  '--multi_head:1:1: error: attention: has no score; set one' 'heads: 2'
fails_multi_head 'a gate without causality' \
  '--multi_head:1:36: error: attention.forget: requires causal self-attention' \
  'heads: 2 attention { scaled_dot {} forget {} }'
fails_multi_head 'history' 'reads the weights of earlier queries' \
  'heads: 2 attention { coverage {} }'
fails_multi_head 'heads twice' \
  '--heads applies only to --attention; write `heads: 2` into the text of ' \
  "${multi_head}" --heads=2
fails_multi_head 'two layers' \
  '--arrays and either --attention or --multi_head are required' \
  "${multi_head}" --attention='dot {}'
fails_multi_head 'distances of a layer' \
  'up to 2 positions apart, but this attention supports at most 0' \
  'heads: 2 attention { relative_dot { max_position: 1 } }'
fails 'no arrays' 'nowhere.json' "${attend}" --attention='dot {}' \
  --arrays=nowhere.json
fails 'no flags' \
  '--arrays and either --attention or --multi_head are required' "${attend}"
fails 'tensors' "more.safetensors: error: there is no array 'more'" \
  "${attend}" --attention='dot {}' --arrays=more.safetensors
expect_in err 'more.safetensors: error: the array `values` is required'
fails_when_full 'attend' "${attend}" "${arrays[@]}"
