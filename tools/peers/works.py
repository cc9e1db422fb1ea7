"""The workloads of the benchmark: sizes, tokens and arithmetic."""

import dataclasses

import step_data

# Kinds of workloads, named after their steps.
REGRESSION = "regression"  # Nadaraya-Watson: a training step
TRANSLATION = "translation"  # encoder, attention, decoder: a training step
ADDITIVE = "additive"  # the additive score: forward and backward
MULTI_HEAD = "multi_head"  # multi-head self-attention: forward and backward
SEARCH = "search"  # translating a batch
TRANSFORMER = "transformer"  # encoder and decoder: a training step
TRANSFORMER_SEARCH = "transformer_search"  # translating with a Transformer
LANGUAGE_MODEL = "language_model"  # only a decoder: a training step
IMAGE = "image"  # a Vision Transformer: a training step
GENERATION = "generation"  # continuing texts with cached keys and values
CONTINUATION = "continuation"  # continuing longer prompts with a GPT-2
EMBEDDING = "embedding"  # sentence embeddings by a BERT
CLASSIFICATION = "classification"  # image classification by a ViT
ATTENTION = "attention"  # causal, with ALiBi: forward and backward
ATTENTION_FORWARD = "attention_forward"  # only the forward pass
OVERHEAD = "overhead"  # a chain of operations on 8 numbers

# Kinds that update weights, and kinds that search.
TRAINING = (REGRESSION, TRANSLATION, TRANSFORMER, LANGUAGE_MODEL, IMAGE)
TRANSLATING = (SEARCH, TRANSFORMER_SEARCH)
SEARCHING = (*TRANSLATING, GENERATION, CONTINUATION)
# Kinds without a backward pass.
FORWARD = (*SEARCHING, EMBEDDING, CLASSIFICATION, ATTENTION_FORWARD)
# Kinds for which other frameworks start slowly. They only run with all threads.
# If oneMKL checks the vendor of the processor, it must assume Intel.
LARGE = (CONTINUATION, CLASSIFICATION)


@dataclasses.dataclass(frozen=True)
class Work:
    """A workload, one row of the table. Unused fields are 0."""

    name: str
    kind: str
    batch: int = 0
    source_time: int = 0
    target_time: int = 0
    embedding: int = 0
    hidden: int = 0
    layers: int = 1
    source_vocabulary: int = 0
    target_vocabulary: int = 0
    # Whether the encoder is bidirectional, the initial state is projected, and
    # the readout has the state, the context and the embedding.
    bidirectional: bool = False
    # Whether sentences have lengths from 4 to source_time and target_time, with
    # a mean of 14. Padding does not count as tokens.
    ragged: bool = False
    beam: int = 0
    heads: int = 0
    feed_forward: int = 0
    # Height and width of a patch. The height and width of images are
    # source_time.
    patch: int = 0
    channels: int = 1
    # Minimum ratios of the best time of each framework to Regard's time.
    # form_targets contains pairs of a form of PyTorch and the ratio for this
    # form.
    torch_target: float = 0
    jax_target: float = 0
    onnx_target: float = 0
    ctranslate2_target: float = 0
    form_targets: tuple = ()
    peers: tuple = ("torch", "jax")

    def tokens(self):
        """Returns the number of units of a step: tokens, sentences, images,
        points or rows."""
        if self.kind in TRANSLATING:
            return self.batch  # sentences
        if self.kind in (IMAGE, CLASSIFICATION):
            return self.batch  # images
        if self.kind == EMBEDDING:
            return self.batch * self.source_time
        if self.ragged:
            return int(step_data.target_lengths(self).sum())
        return self.batch * max(self.target_time, 1)

    def gigaflops(self):
        """Returns the GFLOP in the matrix products of a step.

        In the backward pass, a matrix product counts twice, once per operand.
        Masked keys of causal attention do not count. Ragged sentences count as
        if all had the mean length.
        """
        b, t, u = self.batch, self.source_time, self.target_time
        if self.ragged:
            t = float(step_data.source_lengths(self).mean())
            u = float(step_data.target_lengths(self).mean())
        e, h = self.embedding, self.hidden
        if self.kind == REGRESSION:
            return 0.0
        if self.kind == OVERHEAD:
            return 0.0
        if self.kind == ADDITIVE:
            return 6e-9 * b * h * ((t + u) * h + t * u)
        if self.kind == MULTI_HEAD:
            return 6e-9 * b * t * h * (4 * h + 2 * t)
        passes = 2e-9 if self.kind in FORWARD else 6e-9
        if self.kind in (IMAGE, CLASSIFICATION):
            patches = (t // self.patch)**2
            # Matrix products per token: projections, keys, feed-forward.
            token = (4 * h * h + 2 * h * (patches + 1)
                     + 2 * h * self.feed_forward)
            return passes * b * (
                (patches + 1) * self.layers * token
                + patches * self.channels * self.patch**2 * h
                + h * self.target_vocabulary)
        if self.kind == CONTINUATION:
            read = t + u - 1  # positions
            position = (4 * h * h + 2 * h * self.feed_forward
                        + h * (read + 1))
            return passes * b * (self.layers * read * position
                                 + u * h * self.target_vocabulary)
        if self.kind == EMBEDDING:
            token = 4 * h * h + 2 * h * self.feed_forward + 2 * h * t
            return passes * b * t * self.layers * token
        if self.kind in (ATTENTION, ATTENTION_FORWARD):
            return passes * b * h * t * (t + 1)
        beams = max(self.beam, 1)
        if self.kind in (TRANSFORMER, TRANSFORMER_SEARCH, LANGUAGE_MODEL,
                         GENERATION):
            # Matrix products per position: projections, visible keys,
            # feed-forward.
            position = 4 * h * h + 2 * h * self.feed_forward
            decoder = position + h * (u + 1)
            if t:
                # Adds the queries and outputs, and the keys of the source.
                decoder += 2 * h * h + 2 * h * t
            # The encoder, and the decoder's projections of its outputs.
            encoder = t * (position + 2 * h * t + 2 * h * h)
            return passes * b * (
                self.layers * (encoder + beams * u * decoder)
                + beams * u * h * self.target_vocabulary)
        context = 2 * h if self.bidirectional else h
        directions = 2 if self.bidirectional else 1
        encoder = sum(
            directions * b * t * ((e if layer == 0 else h * directions) + h)
            * 3 * h for layer in range(self.layers))
        bridge = b * context * h if self.bidirectional else 0
        per_step = sum(((e + context if layer == 0 else h) + h) * 3 * h
                       for layer in range(self.layers))
        readout = h + context + e if self.bidirectional else h
        per_step += h * h + t * h + t * context  # query, score, context
        per_step += readout * self.target_vocabulary
        decoder = b * beams * u * per_step + b * t * context * h
        return passes * (encoder + bridge + decoder)

    def gigabytes(self):
        """Returns the GB of weights that a step reads, once per pass, or 0."""
        if self.kind != CONTINUATION:
            return 0.0
        h = self.hidden
        layer = 4 * h * h + 2 * h * self.feed_forward
        return 4e-9 * self.target_time * (
            self.layers * layer + h * self.target_vocabulary)

    def arguments(self):
        """Yields the sizes as --name=value, for the C++ program."""
        for field in dataclasses.fields(self):
            if field.name in TARGETS or field.name == "peers":
                continue
            value = getattr(self, field.name)
            if isinstance(value, bool):
                value = str(value).lower()
            yield f"--{field.name}={value}"


# Names of the fields that contain minimum ratios.
TARGETS = [field.name for field in dataclasses.fields(Work)
           if field.name.endswith(("_target", "_targets"))]


def _bahdanau(name, batch, time, embedding, hidden, vocabulary, **more):
    return Work(name, more.pop("kind", TRANSLATION), batch=batch,
                source_time=time, target_time=time, embedding=embedding,
                hidden=hidden, source_vocabulary=vocabulary,
                target_vocabulary=vocabulary, **more)


def _gpt(name, batch, block, width, layers, heads, **more):
    return Work(name, more.pop("kind", LANGUAGE_MODEL), batch=batch,
                target_time=block, hidden=width, layers=layers, heads=heads,
                feed_forward=4 * width, target_vocabulary=65, **more)


def _minilm(batch, target):
    """all-MiniLM-L6-v2 with 16 tokens per sentence."""
    return Work(f"embed_minilm_{batch}", EMBEDDING, batch=batch,
                source_time=16, hidden=384, layers=6, heads=12,
                feed_forward=1536, source_vocabulary=30522,
                torch_target=target, onnx_target=target,
                ctranslate2_target=target,
                peers=("torch", "onnx", "ctranslate2"))


def _gpt2(name, batch, target):
    """The smallest GPT-2: 64 ids after prompts of 64 ids."""
    return Work(name, CONTINUATION, batch=batch, source_time=64,
                target_time=64, hidden=768, layers=12, heads=12,
                feed_forward=3072, target_vocabulary=50257,
                torch_target=target, onnx_target=target,
                ctranslate2_target=target,
                peers=("torch", "onnx", "ctranslate2"))


def _transformer(name, time, width, layers, heads, vocabulary, **more):
    return Work(name, more.pop("kind", TRANSFORMER), batch=64,
                source_time=time, target_time=time, hidden=width,
                layers=layers, heads=heads, feed_forward=2 * width,
                source_vocabulary=vocabulary, target_vocabulary=vocabulary,
                **more)


def _alibi(name, kind, **more):
    """Two sequences of 4,096 positions in four heads of width 64."""
    return Work(name, kind, batch=2, source_time=4096, target_time=4096,
                hidden=256, heads=4, peers=("torch",), **more)


_IDIOMATIC = (("idiomatic", 5),)

WORKS = [
    Work("nadaraya_watson", REGRESSION, batch=50, torch_target=60,
         jax_target=5),
    _bahdanau("bahdanau_32", 64, 10, 32, 32, 200, layers=2, torch_target=8,
              jax_target=3),
    _bahdanau("bahdanau_256", 64, 20, 256, 256, 8000, torch_target=2.5,
              jax_target=2.5),
    _bahdanau("bahdanau_512", 64, 25, 256, 512, 8000, torch_target=2.1,
              jax_target=2.1),
    dataclasses.replace(
        _bahdanau("bahdanau_bidirectional_512", 128, 13, 256, 512, 5893,
                  bidirectional=True, torch_target=1.5, jax_target=1.5),
        source_vocabulary=7853),
    Work("additive_score", ADDITIVE, batch=32, source_time=20, target_time=20,
         hidden=256, torch_target=5, jax_target=2.4),
    Work("multi_head_512", MULTI_HEAD, batch=2, source_time=512,
         target_time=512, hidden=512, heads=16, torch_target=1.4,
         jax_target=2.2),
    _bahdanau("greedy_search", 64, 20, 256, 256, 8000, kind=SEARCH, beam=1,
              torch_target=3, form_targets=_IDIOMATIC),
    _bahdanau("beam_search_5", 64, 20, 256, 256, 8000, kind=SEARCH, beam=5,
              torch_target=2.5, jax_target=2.5, form_targets=_IDIOMATIC),
    _transformer("transformer_small", 10, 32, 2, 4, 200, torch_target=3,
                 jax_target=1.25),
    _transformer("transformer_step", 20, 256, 3, 8, 8000, torch_target=1.8,
                 jax_target=1.8),
    _transformer("transformer_beam_search", 20, 256, 3, 8, 8000,
                 kind=TRANSFORMER_SEARCH, beam=5, ctranslate2_target=1.2,
                 peers=("torch", "ctranslate2")),
    dataclasses.replace(
        _bahdanau("ragged_bahdanau_512", 128, 40, 256, 512, 10000,
                  torch_target=1.5), ragged=True, peers=("torch",)),
    dataclasses.replace(
        _transformer("ragged_transformer", 40, 128, 4, 4, 10000,
                     torch_target=1.1), batch=128, ragged=True,
        peers=("torch",)),
    _gpt("gpt_step", 12, 64, 128, 4, 4, torch_target=1.9, jax_target=1.9),
    _gpt("gpt_step_large", 8, 256, 384, 6, 6, torch_target=1.3,
         jax_target=1.3),
    Work("vit_step", IMAGE, batch=128, source_time=28, patch=4, hidden=96,
         layers=4, heads=3, feed_forward=192, target_vocabulary=10,
         torch_target=1.7, peers=("torch",)),
    _alibi("alibi_forward", ATTENTION_FORWARD,
           form_targets=(("compiled_flex", 1), ("sdpa_flash", 1.5))),
    _alibi("alibi", ATTENTION, torch_target=1.5),
    _gpt("gpt_generate", 1, 256, 128, 4, 4, kind=GENERATION,
         form_targets=_IDIOMATIC),
    _gpt("gpt_generate_16", 16, 256, 128, 4, 4, kind=GENERATION),
    _minilm(1, 1),
    _minilm(32, 1.25),
    _gpt2("gpt2_124m", 1, 1),
    _gpt2("gpt2_124m_16", 16, 1.2),
    Work("vit_b16_8", CLASSIFICATION, batch=8, source_time=224, patch=16,
         channels=3, hidden=768, layers=12, heads=12, feed_forward=3072,
         target_vocabulary=1000, onnx_target=1.1, peers=("torch", "onnx")),
    Work("operation_overhead", OVERHEAD, batch=1000, peers=("torch",)),
]


def with_products():
    """Returns the workloads whose precision can be bfloat16."""
    return [work for work in WORKS if work.gigaflops() > 0]


def growth():
    """Pairs of translation workloads in which one size doubles."""
    base = _bahdanau("growth", 32, 10, 128, 128, 2000)
    for letter, change in (
        ("B", {"batch": 64}),
        ("T", {"source_time": 20, "target_time": 20}),
        ("H", {"hidden": 256}),
        ("V", {"source_vocabulary": 4000, "target_vocabulary": 4000})):
        yield letter, base, dataclasses.replace(
            base, name=f"growth_{letter}", **change)


def by_name(name):
    for work in WORKS:
        if work.name == name:
            return work
    for _, base, grown in growth():
        for work in (base, grown):
            if work.name == name:
                return work
    raise SystemExit(f"no workload is named {name}; the workloads are "
                     + ", ".join(work.name for work in WORKS))
