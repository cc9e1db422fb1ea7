#!/bin/bash
# Trains a small run, then translates through pipes, like scripts.

source experiments/testing.sh

train="${runfiles}/$1"
translate="${runfiles}/$2"
config="${runfiles}/$3"

quietly "${train}" --config="${config}" --run=run --set data.phrasebook.train=600 \
  --set data.phrasebook.dev=10 --set data.phrasebook.test=10 \
  --set data.phrasebook.test_unseen_pairs=10 --set training.epochs=2 \
  --set model.encoder.hidden=16 --set model.decoder.hidden=16

# A thousand lines of up to ten words, some of them empty.
words=(they are watching . the girl sees a zebra he)
for i in $(seq 0 999); do
  echo "${words[*]:0:$((i % 11))}"
done >thousand
"${translate}" --run=run <thousand >out 2>err
expect 'a thousand lines in, a thousand out' 1000 "$(wc -l <out)"
expect_in err "'zebra'"
expect 'each unknown word is named once' 1 "$(grep -c zebra err)"
"${translate}" --run=run 'they <eos> <unk> watching' >/dev/null 2>err
expect 'text cannot spell reserved tokens' \
  "note: sentence 1: the model does not know '<eos>'" "$(cat err)"

# On a terminal, standard error must have a progress line, which notes replace.
python3 - "${translate}" >screen <<'PYTHON'
import os, pty, subprocess, sys
master, slave = pty.openpty()
with open("thousand") as lines, open("watched", "w") as out:
    subprocess.run([sys.argv[1], "--run=run"], stdin=lines, stdout=out,
                   stderr=slave, env=dict(os.environ, TERM="xterm"), check=True)
os.close(slave)
screen = b""
try:
    while True:
        part = os.read(master, 4096)
        if not part:
            break
        screen += part
except OSError:  # the other side is closed
    pass
sys.stdout.buffer.write(screen)
PYTHON
expect 'the last line of progress' 1 \
  "$(grep -c $'1000 sentences  [0-9.]* a second.*\r$' screen)"
expect 'a note in place of the line' 1 "$(grep -c $'\rnote: .*zebra' screen)"
cmp out watched || failures=$((failures + 1))
expect 'no progress off a terminal' 0 "$(grep -c 'a second' err)"

# Words of a corpus must be written unchanged to a file, but must not control a
# terminal.
printf 'they\t\x1b[31mils\n%.0s' {1..64} >pairs
quietly "${train}" --config="${config}" --run=red --set training.epochs=30 \
  --set 'data={path: "pairs" pairs { cut_tokens: 2 }}' \
  --set model.encoder.hidden=16 --set model.decoder.hidden=16
expect 'a word of the corpus' $'\x1b[31mils' "$("${translate}" --run=red they)"
python3 - "${translate}" --run=red they >screen <<'PYTHON'
import os, pty, subprocess, sys
master, slave = pty.openpty()
subprocess.run(sys.argv[1:], stdout=slave, check=True)
sys.stdout.write(os.read(master, 4096).decode().replace("\r", ""))
PYTHON
expect 'the word on a terminal' '[31mils' "$(head -n 1 screen)"
expect 'nothing else that it would obey' 0 "$(grep -c $'\x1b' screen)"

# Words beyond cut_tokens of the run must be ignored, with a note.
"${translate}" --run=red 'they they' 'they they they' >/dev/null 2>err
expect 'more than the model reads' \
  'note: sentence 2 is cut: only the first 2 of 3 words are translated' \
  "$(grep 'is cut' err)"

expect 'the same on any threads' "$(sha256sum <out)" "$(
  "${translate}" --run=run --threads=3 <thousand 2>/dev/null | sha256sum)"

# A translation must not depend on the other sentences of its batch.
for i in $(seq 0 10); do
  sed -n "$((i + 1))p" thousand | "${translate}" --run=run 2>/dev/null
done >alone
head -n 11 out >first
expect 'alone as in company' "$(cat alone)" "$(cat first)"
for i in $(seq 0 89); do cat alone; done | head -n 990 >wanted
head -n 990 out | cmp - wanted || failures=$((failures + 1))
expect 'an empty line has an empty translation' '' "$(head -n 1 out)"
mapfile -t sentences < <(tail -n +2 thousand | head -n 10)
expect 'arguments as lines' "$(tail -n +2 alone)" \
  "$("${translate}" --run=run "${sentences[@]}" 2>/dev/null)"
expect 'as many lines from a beam' 1000 \
  "$("${translate}" --run=run --beam=3 <thousand 2>/dev/null | wc -l)"

# Translates ten thousand words in one line, then a normal line without a
# newline.
{
  printf 'they %.0s' $(seq 10000)
  printf '\nthey are watching .'
} | "${translate}" --run=run >out 2>err
expect 'a long line is one line' 2 "$(wc -l <out)"
expect 'the line after it' "$(sed -n 5p alone)" "$(tail -n 1 out)"
expect_in err 'sentence 1 is cut: only the first 500 of 10000 words are translated'

# Input that is not text must give one line of output, too.
printf 'a\0b \xff\xfe\r\n\x1b[31m they\n' | "${translate}" --run=run >out 2>err
expect 'bytes of any kind' 2 "$(wc -l <out)"
expect 'no line in, none out' '' "$("${translate}" --run=run </dev/null 2>&1)"
expect 'typed without spaces' "$(sed -n 5p alone)" \
  "$(echo 'They are  watching.' | "${translate}" --run=run 2>&1)"

# A translation must be written before the next sentence arrives.
expect 'an answer without waiting for more' "$(sed -n 5p alone)" \
  "$(first_answer 'they are watching .' "${translate}" --run=run)"

# Tests the options of the search.
expect 'a beam of the config' "$("${translate}" --run=run --beam=3 \
  'they are watching .' 2>/dev/null)" "$("${translate}" --run=run --beam=3 \
  --length_penalty=1 --max_length=20 'they are watching .' 2>/dev/null)"
printf 'they are watching .\n\nhe sees a girl .\n' |
  "${translate}" --run=run --beam=4 --n_best=3 >out 2>err
expect 'n-best lines' '0 0 0 1 2 2 2' "$(cut -d ' ' -f 1 out | xargs)"
expect 'the best of n' "$(sed -n 1p out | sed 's/^0 ||| \(.*\) ||| .*/\1/')" \
  "$("${translate}" --run=run --beam=4 'they are watching .' 2>/dev/null)"
expect 'their scores are sorted' "$(sed -n 1,3p out | sed 's/.*||| //')" \
  "$(sed -n 1,3p out | sed 's/.*||| //' | sort -rg)"
expect 'at least seven words' 1 "$(("$("${translate}" --run=run --min_length=7 \
  'they are watching .' 2>err | wc -w)" >= 7))"
expect 'room for seven words' '' "$(cat err)"
# The limits are 2 * 5 + 10 ids for the first sentence, and 2 * 3 + 10 for the
# third.
printf 'they are watching .\n\nthey are\n' |
  "${translate}" --run=run --min_length=19 >out 2>err
expect 'no room for nineteen words' 'note: sentence 3: its translation has at '\
'most 16 tokens, too few for min_length: 19 tokens and <eos>' \
  "$(grep sentence err)"
expect 'at most two ids' 1 "$(("$("${translate}" --run=run --max_length=2 \
  'they are watching .' 2>/dev/null | wc -w)" <= 2))"
sample() { "${translate}" --run=run --sample --temperature=3 "$@" 2>/dev/null; }
expect 'samples repeat' "$(sample --seed=1 --n_best=4 'they are watching .')" \
  "$(sample --seed=1 --n_best=4 'they are watching .')"
expect 'samples of other seeds differ' 2 "$(for seed in 1 2; do
  sample --seed="${seed}" --n_best=4 'they are watching .' | sort | md5sum
done | sort -u | wc -l)"
expect 'a sample of the likeliest word is greedy' "$(sed -n 5p alone)" \
  "$(sample --top_k=1 'they are watching .')"

# The scores of given pairs must equal the scores that the search has printed.
"${translate}" --run=run --beam=3 --n_best=3 --length_penalty=0 \
  'they are watching .' >found 2>/dev/null
sed 's/^0 ||| \(.*\) ||| .*/they are watching .\t\1/' found |
  "${translate}" --run=run --score >out 2>err
expect 'a score for each pair' 3 "$(wc -l <out)"
expect 'scores with all digits' '3 3' "$(grep -cE '[0-9]{8}' out) $(
  sed 's/.*||| //' found | grep -cE '[0-9]{8}')"
expect 'the scores of a search' 3 "$(paste -d ' ' out \
  <(sed 's/.*||| //' found) | awk '($1 - $2) ^ 2 < 1e-6' | wc -l)"

# An ensemble of a run with itself must give the translations of the run.
expect 'an ensemble' "$(cat alone)" \
  "$(head -n 11 thousand | "${translate}" --run=run --run=run 2>/dev/null)"
expect 'no word of the training was unknown' \
  'note: --replace_unknown has no effect: the training targets have no <unk>, '\
'so the model never writes it' \
  "$("${translate}" --run=run --replace_unknown they 2>&1 >/dev/null)"

# Target words that occur once are <unk>. Here, they are translations of names.
# --replace_unknown must copy the name, even if a known word has a larger
# weight.
for i in {1..60}; do
  printf 'name%d sees a fish\tName%d vida\n' "${i}" "${i}"
  printf 'a fish sees name%d\tvida Name%d\n' "${i}" "${i}"
done >names.tsv
quietly "${train}" --config="${config}" --run=names --set training.epochs=20 \
  --set 'data={path: "names.tsv" pairs { min_frequency: 3 }}' \
  --set model.encoder.hidden=16 --set model.decoder.hidden=16 \
  --set 'baseline.override=[]'
expect 'what the model writes' '<unk> vida' \
  "$("${translate}" --run=names 'Zorglub sees a fish' 2>/dev/null)"
expect 'an unknown word is copied' 'zorglub vida' \
  "$("${translate}" --run=names --replace_unknown 'Zorglub sees a fish' \
    2>/dev/null)"
expect 'no known word is copied' 0 "$(printf '%s\n' 'sees a fish' 'fish a sees' \
  'a' 'fish' 'sees' 'a a a' | "${translate}" --run=names --replace_unknown \
  --min_length=2 2>/dev/null | grep -cE '\b(sees|a|fish)\b')"

# The targets are much longer than the sources. The run folder stores the
# greatest target length, because the data may be missing later. Runs of earlier
# versions do not store it.
for i in {1..30}; do
  printf 'go\t%s\ngo go\t%s\nno\tn\n' "$(echo r{1..16})" "$(echo r{1..24})"
done >long.tsv
quietly "${train}" --config="${config}" --run=long --set training.epochs=40 \
  --set 'data={path: "long.tsv" pairs {}}' \
  --set training.batch_size=8 --set 'baseline.override=[]' \
  --set model.encoder.hidden=16 --set model.decoder.hidden=16
rm long.tsv
expect_in long/run.json '"longest_target":25,' '"target_source_ratio":8.5' \
  '"unknown_target_words":0}'
expect 'as long as in training' '16 24' \
  "$(printf 'go\ngo go\n' | "${translate}" --run=long 2>err | awk '{print NF}' |
    xargs)"
expect 'nothing was cut' '' "$(cat err)"
expect 'a limit that is set' '4' "$("${translate}" --run=long --max_length=5 go \
  2>err | wc -w)"
expect 'what was cut' 'note: 1 of 1 translations were cut at their maximum length; '\
'raise it with --max_length=N' "$(cat err)"
sed -i -z 's/,\n"training_data":[^}]*}//' long/run.json
expect 'a run of an earlier program' '13' \
  "$("${translate}" --run=long go 2>err | wc -w)"
expect_in err '1 of 1 translations were cut at their maximum length'

# Alignments must not go to standard output.
expect 'align in a pipe' "$(sed -n 5p alone)" \
  "$("${translate}" --run=run --align 'they are watching .' 2>err)"
expect_in err 'watching'

fails_when_full 'a translation' "${translate}" --run=run they
fails 'no run' '--run=DIR must name' "${translate}" 'hello'
fails 'a folder that is not there' 'nowhere is neither a run folder' \
  "${translate}" --run=nowhere
fails 'an ensemble to score with' 'requires exactly one --run' \
  "${translate}" --run=run --run=run --score
fails 'a flag that is misspelt' 'no flag --beem' \
  "${translate}" --run=run --beem=3
fails 'no threads' '--threads' "${translate}" --run=run --threads=0
fails 'a beam of nothing' '--beam' "${translate}" --run=run --beam=0
fails 'more than a beam finds' 'must be at most `beam` (2); got 3' \
  "${translate}" --run=run --beam=2 --n_best=3
fails 'sampling from a beam' '--beam has no effect on sampling' \
  "${translate}" --run=run --beam=2 --sample
for flag in --beam=1 --n_best=1 --min_length=0 --max_length=1 \
  --length_penalty=0 --coverage_penalty=0 --log_probabilities --sample \
  --temperature=1 --top_k=0 --top_p=1 --min_p=0 --seed=0 \
  --repetition_penalty=1 --no_repeat_ngram=0 --align --replace_unknown; do
  fails "${flag} of --score" '--score does not search' \
    "${translate}" --run=run --score "${flag}"
done
fails 'a temperature of nothing' 'require --sample' \
  "${translate}" --run=run --temperature=2
fails 'no temperature' '--temperature requires a number from 0.01 to 100' \
  "${translate}" --run=run --sample --temperature=cold
cp run/target_vocabulary.txt kept
sed -i '7s/./#/' run/target_vocabulary.txt
fails 'a vocabulary with another letter' 'target_vocabulary.txt: has changed' \
  "${translate}" --run=run
cp kept run/target_vocabulary.txt
rm run/target_vocabulary.txt
fails 'a vocabulary that is gone' 'target_vocabulary.txt' \
  "${translate}" --run=run
rm -r run/checkpoints
cp run/source_vocabulary.txt run/target_vocabulary.txt
fails 'no checkpoint' 'no complete checkpoint' "${translate}" --run=run
