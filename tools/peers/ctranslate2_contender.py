"""The benchmark of CTranslate2.

--form: idiomatic, tuned, tuned_together, or either tuned form with _onemkl.

In the idiomatic form, all threads work on one batch. In the tuned forms, each
thread has a part of the batch, as in Regard. Element-wise operations use
AVX-512 if the processor has it, which CTranslate2 does not select by itself.
With `together`, all threads work on one batch in the tuned form, too. Matrix
products use oneMKL if the processor is Intel's or the form requests it, and
oneDNN if not.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import contender
import numpy as np
import step_data
import works

ARGUMENTS = contender.parse_arguments()
TUNED = ARGUMENTS.form.startswith("tuned")
PARTS = TUNED and "together" not in ARGUMENTS.form
contender.pin(ARGUMENTS.threads)
with open("/proc/cpuinfo", encoding="utf-8") as info:
    if TUNED and "avx512vl" in info.read():
        os.environ["CT2_FORCE_CPU_ISA"] = "AVX512"
if ARGUMENTS.form.endswith("_onemkl"):
    os.environ["CT2_USE_MKL"] = "1"

# pylint: disable=wrong-import-position
import ctranslate2

OPTIONS = {"device": "cpu", "compute_type": "float32",
           "inter_threads": ARGUMENTS.threads if PARTS else 1,
           "intra_threads": 1 if PARTS else ARGUMENTS.threads}


def _translate(work, folder):
    translator = ctranslate2.Translator(folder, **OPTIONS)
    source, _, _ = step_data.sentences(work)
    source = [step_data.tokens(ids) for ids in source]
    part = -(-work.batch // OPTIONS["inter_threads"])

    def step(count):
        for _ in range(count):
            found = translator.translate_batch(
                source, max_batch_size=part, beam_size=work.beam,
                # Without a length penalty, a score is a log probability.
                length_penalty=0, max_decoding_length=work.target_time,
                return_scores=True)
        return found

    contender.serve(
        step, lambda: [np.mean([best.scores[0] for best in step(1)])])


def _continue(work, folder):
    generator = ctranslate2.Generator(folder, **OPTIONS)
    prompts = [step_data.tokens(ids) for ids in step_data.prompts(work)]
    part = -(-work.batch // OPTIONS["inter_threads"])

    def step(count):
        for _ in range(count):
            found = generator.generate_batch(
                prompts, max_batch_size=part, beam_size=1, sampling_topk=1,
                min_length=work.target_time, max_length=work.target_time,
                # This id is never the most probable id, so no text ends early.
                end_token=step_data.tokens([work.target_vocabulary - 1])[0],
                include_prompt_in_result=False)
        return [result.sequences_ids[0] for result in found]

    contender.serve(step, lambda: np.array(step(1)).T.flatten().tolist())


def _embed(work, folder):
    encoder = ctranslate2.Encoder(folder, **OPTIONS)
    ids = step_data.text(work.batch * work.source_time, work.source_vocabulary)
    ids = ids.astype(np.int32).reshape(work.batch, work.source_time)
    parts = np.array_split(ids, min(OPTIONS["inter_threads"], work.batch))
    pool = concurrent.futures.ThreadPoolExecutor(len(parts))
    lengths = [np.full(len(part), work.source_time, np.int32)
               for part in parts]

    def vectors_of(part, length):
        outputs = encoder.forward_batch(
            ctranslate2.StorageView.from_array(part),
            ctranslate2.StorageView.from_array(length)).last_hidden_state
        vectors = np.array(outputs).mean(axis=1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def step(count):
        for _ in range(count):
            vectors = list(pool.map(vectors_of, parts, lengths))
        return vectors

    contender.serve(step, lambda: step(1)[-1][-1].tolist())


def main():
    work = works.by_name(ARGUMENTS.work)
    run = {works.EMBEDDING: _embed, works.CONTINUATION: _continue}.get(
        work.kind, _translate)
    with tempfile.TemporaryDirectory() as folder:
        # Converts in a separate process, so that its memory is not measured.
        subprocess.run(
            [sys.executable, pathlib.Path(__file__).with_name(
                "ctranslate2_models.py"), f"--path={folder}", *sys.argv[1:]],
            check=True, stdout=sys.stderr)
        run(work, folder)


if __name__ == "__main__":
    main()
