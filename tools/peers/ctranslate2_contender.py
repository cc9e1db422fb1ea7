"""CTranslate2's side of the bench. --form: idiomatic, tuned or tuned_onemkl.

In the idiomatic form a batch has all threads. In the tuned forms each thread has
a part of the batch, as in Regard, and element-wise operations are AVX-512's where
the processor has it, which CTranslate2 does not choose by itself. Products are
oneDNN's, or oneMKL's where the processor is Intel's or the form says so.
"""

import concurrent.futures
import os
import tempfile

import contender
import numpy as np
import step_data
import weights as weights_of
import works

ARGUMENTS = contender.parse_arguments()
TUNED = ARGUMENTS.form.startswith("tuned")
contender.pin(ARGUMENTS.threads)
with open("/proc/cpuinfo", encoding="utf-8") as info:
    if TUNED and "avx512vl" in info.read():
        os.environ["CT2_FORCE_CPU_ISA"] = "AVX512"
if ARGUMENTS.form == "tuned_onemkl":
    os.environ["CT2_USE_MKL"] = "1"

# pylint: disable=wrong-import-position
import ctranslate2
import ctranslate2_models

OPTIONS = {"device": "cpu", "compute_type": "float32",
           "inter_threads": ARGUMENTS.threads if TUNED else 1,
           "intra_threads": 1 if TUNED else ARGUMENTS.threads}


def _translate(work, weights, folder):
    ctranslate2_models.save_translator(work, weights, folder)
    translator = ctranslate2.Translator(folder, **OPTIONS)
    source, _, _ = step_data.sentences(work)
    source = [ctranslate2_models.tokens(ids) for ids in source]
    part = -(-work.batch // OPTIONS["inter_threads"])

    def step(count):
        for _ in range(count):
            found = translator.translate_batch(
                source, max_batch_size=part, beam_size=work.beam,
                # All are of one length; then scores are log probabilities.
                length_penalty=0, max_decoding_length=work.target_time,
                return_scores=True)
        return found

    contender.serve(
        step, lambda: [np.mean([best.scores[0] for best in step(1)])])


def _embed(work, weights, folder):
    ctranslate2_models.save_encoder(work, weights, TUNED, folder)
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
    weights = weights_of.load(work, ARGUMENTS.weights)
    run = _embed if work.kind == works.EMBEDDING else _translate
    with tempfile.TemporaryDirectory() as folder:
        run(work, weights, folder)


if __name__ == "__main__":
    main()
