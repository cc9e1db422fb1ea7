"""Writes random corpora with their scores by sacreBLEU.

The test is //seq2seq/metrics:metrics_test. Its fixture comes from
`write_translation_scores.py --corpora=12 --lines=4`. To compare more corpora,
use

    write_translation_scores.py --corpora=200 > /tmp/scores.txt
    SCORES=/tmp/scores.txt bazel-bin/seq2seq/metrics/sacrebleu_test

Requires sacrebleu 2.6 (pip). A corpus is a line

    corpus LINES REFERENCES BLEU CHRF CHRF++ TER

followed by its signatures, one per line, and its lines: the prediction and the
references, separated by tabs.
"""

import argparse
import random

from sacrebleu.metrics import BLEU, CHRF, TER

WORDS = (
    "a an the of to in is was it boat gull rain lamp 3.5 10,000 7 1990-2000 "
    "heron's don't well-known e.g. U.S. caf\u00e9 \u00e9t\u00e9 na\u00efve "
    "STRASSE stra\u00dfe \u0130stanbul \u039f\u0394\u039f\u03a3 "
    "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u6211\u4eec "
    "\u6771\u4eac\u3067\u3059 \u4f60\u597d\uff0c\u4e16\u754c\u3002 "
    "\u041c\u041e\u0421\u041a\u0412\u0410 \u00ab\u00a0oui\u00a0\u00bb "
    "\u2026 \u2014 \u2019 &quot; &amp;lt; &lt;b&gt; <skipped> (hi) $5 50% "
    "#tag x@y.z http://a.b/c ... !? \U0001f600 , . ; : - ' \" ab. .ab 5- -5"
).split(" ")


def sentence(rng):
    kind = rng.random()
    if kind < 0.06:
        return ""
    if kind < 0.12:
        return rng.choice(WORDS)
    space = rng.choice([" ", " ", " ", "  ", " \u00a0", "\u3000"])
    return space.join(rng.choice(WORDS) for _ in range(rng.randint(2, 30)))


def varied(rng, text):
    """Deletes, inserts, replaces and moves some words."""
    words = text.split(" ")
    for _ in range(rng.randint(0, 6)):
        i = rng.randrange(len(words) + 1)
        edit = rng.randrange(4)
        if edit == 0:
            words.insert(i, rng.choice(WORDS))
        elif words and edit == 1:
            del words[min(i, len(words) - 1)]
        elif words and edit == 2:
            words[min(i, len(words) - 1)] = rng.choice(WORDS)
        elif len(words) > 3:
            j = rng.randrange(len(words) - 2)
            moved = words[j : j + 3]
            del words[j : j + 3]
            k = rng.randrange(len(words) + 1)
            words[k:k] = moved
    return " ".join(words)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=int, default=12)
    parser.add_argument("--lines", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for _ in range(arguments.corpora):
        lines = rng.randint(1, arguments.lines)
        each = rng.choice([1, 1, 2, 5])
        references = [[sentence(rng) for _ in range(lines)]]
        for _ in range(each - 1):
            references.append([varied(rng, s) for s in references[0]])
        predictions = [
            varied(rng, s) if rng.random() < 0.9 else sentence(rng)
            for s in references[0]
        ]
        metrics = [BLEU(), CHRF(), CHRF(word_order=2), TER()]
        scores = [
            metric.corpus_score(predictions, references).score
            for metric in metrics
        ]
        print("corpus", lines, each, *(repr(score) for score in scores))
        for metric in metrics:
            print(str(metric.get_signature()).rsplit("|version:", 1)[0])
        for row in zip(predictions, *references):
            print("\t".join(row))


if __name__ == "__main__":
    main()
