#!/usr/bin/env python3
"""Compares the sentences of //tools:caption with sentences of transformers.

Compares a BLIP folder, and the same model after an export. transformers must
open the export without missing or unexpected tensors.

    pip install transformers torch pillow==12.0.0
    tools/bazel build //tools:{caption,export}
    tools/parity/check_captions.py MODEL_FOLDER IMAGE...

Ignores sentences of a beam that do not end within the length, for which the
libraries return different sentences. Exits with 1 if any other sentence
differs.
"""

import pathlib
import subprocess
import sys
import tempfile

from PIL import Image
import torch
from transformers import BertTokenizerFast, BlipForConditionalGeneration

from exports import export
from image_processors import BlipImageProcessorPil

PROGRAM = "bazel-bin/tools/caption"
LENGTH = 20
PROMPTS = ["", "a picture of", "A photograph, of the", "zebra \u4e2d\u6587"]


def transformers_sentences(folder, images, prompt, beams):
    """Returns a sentence per image. None for a beam that did not end."""
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    processor = BlipImageProcessorPil.from_pretrained(folder)
    model, info = BlipForConditionalGeneration.from_pretrained(
        folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info[kind], (kind, info[kind])
    text = model.config.text_config
    ids = tokenizer(prompt).input_ids
    ids[0] = text.bos_token_id
    sentences = []
    for image in images:
        row = model.eval().generate(
            processor(Image.open(image).convert("RGB"),
                      return_tensors="pt")["pixel_values"],
            torch.tensor([ids]), num_beams=beams, do_sample=False,
            max_new_tokens=LENGTH, length_penalty=0.0,
            suppress_tokens=[text.pad_token_id, text.bos_token_id])[0]
        ended = text.sep_token_id in row[len(ids) - 1:].tolist()
        # transformers 4 would also remove spaces around apostrophes.
        sentences.append(
            tokenizer.decode(row, skip_special_tokens=True,
                             clean_up_tokenization_spaces=False)
            if beams == 1 or ended else None)
    return sentences


def our_sentences(folder, images, prompt, beams, *flags):
    return subprocess.run(
        [PROGRAM, f"--model={folder}", f"--prompt={prompt or ' '}",
         f"--beam={beams}", "--length_penalty=0", f"--length={LENGTH}",
         *images], check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True).stdout.split("\n")[:-1]


def main():
    folder = pathlib.Path(sys.argv[1])
    images = sys.argv[2:]
    compared, different = 0, 0
    with tempfile.TemporaryDirectory() as copy:
        export(folder, copy)
        for prompt in PROMPTS:
            for beams in (1, 3):
                wanted = transformers_sentences(folder, images, prompt, beams)
                got = our_sentences(folder, images, prompt, beams)
                again = transformers_sentences(copy, images, prompt, beams)
                for image, *all_three in zip(images, wanted, got, again):
                    if all_three[0] is None:
                        continue
                    compared += 1
                    if len(set(all_three)) > 1:
                        different += 1
                        print(f"{image}, '{prompt}', {beams}: {all_three}")
    print(f"{compared} sentences of {len(images)} images, "
          f"{different} different; the copy fits")
    return 1 if different or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
