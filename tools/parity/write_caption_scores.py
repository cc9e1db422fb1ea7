#!/usr/bin/env python3
"""Writes random captions with their scores by pycocoevalcap.

The test is //seq2seq/metrics:metrics_test. Its fixture comes from
`write_caption_scores.py --corpora=10`. To compare more corpora, use

    pip install pycocoevalcap==1.2
    write_caption_scores.py --corpora=1000 > /tmp/scores.txt
    SCORES=/tmp/scores.txt bazel-bin/seq2seq/metrics/cider_test

A corpus is a line `corpus IMAGES CIDER-D BLEU-4`, then a line for each image:
the prediction and its references, separated by tabs.
"""

import argparse
import contextlib
import io
import random

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider

WORDS = "a the of on two dog cat red blue ball runs sits caf\u00e9".split()


def sentence(rng):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 14)))


def varied(rng, text):
    return " ".join(rng.choice(WORDS) if rng.random() < 0.2 else word
                    for word in text.split() if rng.random() < 0.9) or "a"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for _ in range(arguments.corpora):
        images = range(rng.randint(1, 12))
        references = {}
        for i in images:
            first = sentence(rng)
            references[i] = [first] + [
                varied(rng, first) for _ in range(rng.randrange(4))]
        predictions = {i: [varied(rng, references[i][0])] for i in images}
        with contextlib.redirect_stdout(io.StringIO()):
            cider, _ = Cider().compute_score(references, predictions)
            bleu, _ = Bleu(4).compute_score(references, predictions)
        print("corpus", len(images), repr(float(cider)), repr(bleu[3]))
        for i in images:
            print("\t".join(predictions[i] + references[i]))


if __name__ == "__main__":
    main()
