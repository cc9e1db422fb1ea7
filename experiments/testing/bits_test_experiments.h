// Small experiments, one for each feature whose results threads or
// interruptions could affect.
#ifndef EXPERIMENTS_TESTING_BITS_TEST_EXPERIMENTS_H_
#define EXPERIMENTS_TESTING_BITS_TEST_EXPERIMENTS_H_

namespace regard {

inline constexpr char kRegression[] = R"(
num_shards: 8
data { nadaraya_watson { points: 40 } }
model { nadaraya_watson {} attention { parametric_gaussian {} } }
optimizer { sgd { momentum: 0.9 } learning_rate: 0.05 }
training { epochs: 3 batch_size: 12 log_every: 2 checkpoint_every: 3 }
)";

inline constexpr char kGru[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 bidirectional: true embedding_dropout: 0.2 }
  attention { additive { width: 8 } dropout: 0.1 }
  decoder {
    embedding: 7
    hidden: 10
    initial_state: PROJECTED
    readout: STATE_CONTEXT_EMBEDDING
    hidden_dropout: 0.2
  }
}
optimizer { adam {} learning_rate: 0.01 clip_norm: 0.5 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

inline constexpr char kLstm[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 layers: 2 cell: LSTM dropout: 0.3 }
  attention { dot {} }
  decoder {
    embedding: 7
    hidden: 9
    layers: 2
    cell: LSTM
    dropout: 0.3
    query: CURRENT_STATE
    readout: ATTENTIONAL
    input_feeding: true
  }
}
loss { label_smoothing: 0.1 }
optimizer {
  adamw {}
  learning_rate: 0.01
  schedule { reduce_on_plateau { patience: 0 } }
}
training { epochs: 4 batch_size: 21 log_every: 2 checkpoint_every: 3 }
)";

// A decoder that computes all of its steps in a single pass.
inline constexpr char kLuong[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 layers: 2 cell: LSTM dropout: 0.3 }
  attention { dot {} dropout: 0.1 }
  decoder {
    embedding: 7
    hidden: 9
    layers: 2
    cell: LSTM
    dropout: 0.3
    query: CURRENT_STATE
    readout: ATTENTIONAL
    hidden_dropout: 0.2
  }
}
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

inline constexpr char kLanguageModel[] = R"(
num_shards: 8
data { grammar { train: 60 dev: 5 test: 5 } }
model {
  language_model {
    block: 16
    stride: 5
    transformer {
      width: 12
      layers: 3
      attention { heads: 3 attention { scaled_dot {} dropout: 0.1 } }
      dropout: 0.2
      drop_path: 0.2
      tied_embeddings: TARGET_OUTPUT
    }
  }
}
optimizer {
  adamw {}
  learning_rate: 0.01
  clip_norm: 1
  schedule { cosine { warmup: 3 floor: 0.1 } }
}
training {
  epochs: 3
  batch_size: 11
  examples_per_epoch: 60
  log_every: 2
  checkpoint_every: 3
}
)";

inline constexpr char kLines[] = R"(
num_shards: 8
data { grammar { train: 60 dev: 5 test: 5 } }
model {
  language_model {
    examples: LINES
    block: 300
    transformer { width: 12 layers: 2 attention { heads: 3 } dropout: 0.2 }
  }
}
training { epochs: 2 batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

// Batches by length, early stopping and averaged weights.
inline constexpr char kSelected[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 dropout: 0.2 }
  attention { additive { width: 8 } }
  decoder { embedding: 7 hidden: 9 hidden_dropout: 0.2 }
}
optimizer { adam {} learning_rate: 0.01 accumulate_batches: 2 }
training {
  epochs: 3
  group_by_length: true
  batch_tokens: 50
  log_every: 2
  checkpoint_every: 3
  early_stopping { metric: "dev/loss" patience: 2 }
  average: 2
}
)";

// A corpus with subword sampling in each epoch, a decoder with scheduled
// sampling, and a moving average of the weights.
inline constexpr char kSampled[] = R"(
num_shards: 8
data {
  pairs {
    train {}
    dev_sample: 5
    subwords { kind: UNIGRAM vocabulary_size: 40 sampling { alpha: 0.3 } }
  }
}
model {
  encoder { embedding: 7 hidden: 9 dropout: 0.2 }
  attention { additive { width: 8 } }
  decoder {
    embedding: 7
    hidden: 9
    embedding_dropout: 0.2
    hidden_dropout: 0.2
    scheduled_sampling { schedule: LINEAR probability: 0.5 updates: 6 }
  }
}
optimizer { adam {} learning_rate: 0.01 }
training {
  epochs: 3
  batch_size: 20
  group_by_length: true
  length_step: 3
  log_every: 2
  checkpoint_every: 3
  early_stopping { metric: "dev/loss" patience: 2 }
  ema_decay: 0.9
}
)";

// Dropout, DropPath and augmentation.
inline constexpr char kImages[] = R"(
num_shards: 8
data { shapes { size: 8 train: 60 dev: 5 test: 5 } }
model {
  vision_transformer {
    augmentation { shift: 1 flip: true crop: 0.8 }
    transformer { width: 12 layers: 2 attention { heads: 3 } dropout: 0.2 drop_path: 0.2 }
  }
}
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

inline constexpr char kCaptions[] = R"(
num_shards: 8
data { captions { side: 4 train: 60 dev: 5 test: 5 } }
model {
  captioner {
    vision_transformer { patch: 2 transformer { width: 12 layers: 1 attention { heads: 3 } } }
    decoder { width: 12 layers: 1 attention { heads: 3 } dropout: 0.2 }
  }
}
loss { label_smoothing: 0.1 }
training { epochs: 2 batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

// Masks different words in each step, and classifies pairs of sentences.
inline constexpr char kMaskedWords[] = R"(
num_shards: 8
data { grammar { train: 200 dev: 5 test: 5 } }
model {
  bert {
    transformer { width: 12 layers: 2 attention { heads: 3 } feed_forward { hidden: 9 } }
    masked_words { block: 16 next_sentence: true }
  }
}
training { epochs: 1 group_by_length: true batch_size: 11 log_every: 2 checkpoint_every: 3 }
)";

// The output of a head is set to 0, attention weights are replaced in some
// steps, and statistics of the weights are reported.
inline constexpr char kClamped[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  transformer {
    width: 12
    layers: 2
    attention { heads: 3 attention { scaled_dot {} dropout: 0.1 } }
    recompute: true
  }
}
optimizer { adam {} learning_rate: 0.01 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
intervene { site: "*/layers[0]/self/attention/context" head: 1 replace { scale: 0 } }
intervene { site: "*/cross/attention/weights" from_step: 2 to_step: 7 replace { permuted {} } }
intervene { site: "encoder/*/self/attention/weights" head: 0 from_step: 4 replace { uniform {} } }
intervene { site: "decoder/layers[1]/*/feed_forward" to_step: 5 replace { zeros {} } }
probe { site: "*/weights" statistic: ENTROPY every: 2 }
probe { site: "*/residual" statistic: NORM every: 1 }
)";

inline constexpr char kHeadOutputs[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  transformer {
    width: 12
    layers: 2
    attention {
      heads: 4
      head_width: 3
      value_heads: 1
      value_width: 4
      attention { scaled_dot {} dropout: 0.1 sink {} }
      head_output { differential {} }
    }
    cross_attention { head_output { gate { bias: 1 } } }
    pattern {}
    pattern { attention { head_output { norm {} } } }
    recompute: true
  }
}
optimizer { adam {} learning_rate: 0.01 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
intervene { site: "encoder/layers[0]/self/gates" from_step: 2 to_step: 7 replace { zeros {} } }
probe { site: "*/head_output" statistic: NORM every: 2 }
)";

// State mixers next to attention with a sink, a score map and a head output.
inline constexpr char kMixers[] = R"(
num_shards: 8
data { grammar { train: 60 dev: 5 test: 5 } }
model {
  language_model {
    examples: LINES
    block: 300
    transformer {
      width: 12
      layers: 4
      mixer { retention { heads: 3 } }
      attention {
        heads: 3
        attention { scaled_dot {} dropout: 0.1 sink {} map_before { soft_cap { cap: 5 } } }
        head_output { gate {} }
      }
      dropout: 0.2
      recompute: true
      pattern {}
      pattern { mixer { gated_linear { heads: 3 } } }
      pattern { mixer { mamba2 { heads: 3 key_width: 3 } } }
      pattern { mixer { attention {} } }
    }
  }
}
optimizer { adam {} learning_rate: 0.01 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
intervene { site: "*/layers[0]/self/attention/weights" from_step: 2 to_step: 7 replace { uniform {} } }
intervene { site: "*/layers[2]/self/attention/context" head: 1 replace { scale: 0 } }
probe { site: "*/weights" statistic: ENTROPY every: 2 }
)";

inline constexpr char kScoreMaps[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  transformer {
    width: 12
    layers: 2
    attention {
      heads: 4
      key_heads: 2
      query_key_norm {}
      attention {
        scaled_dot {}
        dropout: 0.1
        block: 2
        normalizer { scalable_softmax { bias: 0.5 } }
        map_before { talking_heads {} }
        map_after { talking_heads {} }
      }
    }
    cross_attention {
      query_key_norm { kind: NONE }
      attention { map_before { top_k { keys: 3 } } map_after { none {} } }
    }
    pattern {}
    pattern { attention { attention { normalizer { relu_squared {} } } } }
  }
}
optimizer { adam {} learning_rate: 0.01 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
probe { site: "*/weights" statistic: ENTROPY every: 2 }
)";

inline constexpr char kLatents[] = R"(
num_shards: 8
data { grammar { train: 60 dev: 5 test: 5 } }
model {
  language_model {
    block: 16
    transformer {
      width: 12
      layers: 2
      attention {
        heads: 3
        latent { rank: 5 query_rank: 4 }
        attention { scaled_dot {} dropout: 0.1 sink {} }
      }
      pattern {}
      pattern { attention { latent { form: ABSORBED } } }
      recompute: true
    }
  }
}
training { epochs: 2 batch_size: 11 log_every: 2 checkpoint_every: 3 }
probe { site: "*/weights" statistic: ENTROPY every: 2 }
)";

// Products with rounded operands in recurrent cells and in additive attention.
inline constexpr char kRoundedGru[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 bidirectional: true embedding_dropout: 0.2 }
  attention { additive { width: 8 } dropout: 0.1 }
  decoder { embedding: 7 hidden: 34 initial_state: PROJECTED hidden_dropout: 0.2 }
}
optimizer { adam {} learning_rate: 0.01 clip_norm: 0.5 accumulate_batches: 2 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
precision: BFLOAT16_PRODUCTS
)";

// Rounds the products of only one of two layers of the decoder.
inline constexpr char kRoundedTransformer[] = R"(
num_shards: 8
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  transformer {
    width: 36
    layers: 2
    attention { heads: 3 key_heads: 1 attention { scaled_dot {} dropout: 0.1 } }
    tied_embeddings: TARGET_OUTPUT
    recompute: true
  }
}
loss { label_smoothing: 0.1 }
training { epochs: 3 batch_size: 11 log_every: 2 checkpoint_every: 3 }
precision: BFLOAT16_PRODUCTS
keep_float32: "decoder/layers[1]"
)";

}  // namespace regard

#endif  // EXPERIMENTS_TESTING_BITS_TEST_EXPERIMENTS_H_
