#include "seq2seq/seq2seq_validation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/multi_head.pb.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "nn/initialization.pb.h"
#include "nn/layers/recurrent.h"
#include "seq2seq/decoding/output_limit.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/scheduled_sampling.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

namespace {

// Returns a description like "1 GRU layers of width 8".
template <typename Config>
std::string SizeOf(const Config& config) {
  return absl::StrCat(config.layers(), " ",
                      RecurrentConfig::Cell_Name(config.cell()),
                      " layers of width ", config.hidden());
}

// `config` is a RecurrentEncoderConfig or a RecurrentDecoderConfig.
template <typename Config>
void ValidateRecurrent(const Config& config, ConfigProblems& problems) {
  problems.RequireInRange("layers", config.layers(), 1, kMaxRecurrentLayers);
  problems.CheckRanges(config);
  if (config.cell() == RecurrentConfig::LSTM &&
      config.reset_gate() != Config().reset_gate()) {
    problems.Note("reset_gate", "has no effect: an LSTM has no reset gate");
  }
  if (config.initialization() != PYTORCH &&
      config.initialization() != XAVIER_UNIFORM) {
    problems.Add("initialization", "must be PYTORCH or XAVIER_UNIFORM");
  }
}

// `encoder` is null if the encoder is a Transformer.
void ValidateDecoder(const RecurrentEncoderConfig* encoder,
                     const RecurrentDecoderConfig& decoder,
                     ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "decoder");
  ValidateRecurrent(decoder, problems);
  if (decoder.has_scheduled_sampling()) {
    const ConfigProblems::Scope sampling(problems, "scheduled_sampling");
    ValidateScheduledSampling(decoder.scheduled_sampling(), problems);
  }
  const bool starts_from_encoder =
      decoder.initial_state() == RecurrentDecoderConfig::FINAL_STATE;
  if (starts_from_encoder && encoder == nullptr) {
    problems.Add("initial_state",
                 "FINAL_STATE requires a recurrent encoder; with a Transformer "
                 "encoder use PROJECTED, which reads the mean of its outputs");
  } else if (starts_from_encoder && (encoder->layers() != decoder.layers() ||
                                     encoder->hidden() != decoder.hidden() ||
                                     encoder->cell() != decoder.cell())) {
    problems.Add(
        "initial_state",
        absl::StrCat("FINAL_STATE requires an encoder and a decoder with the "
                     "same cell, width and number of layers; the encoder has ",
                     SizeOf(*encoder), ", the decoder ", SizeOf(decoder),
                     ". PROJECTED allows them to differ"));
  }
  if (decoder.context() == RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.readout() != RecurrentDecoderConfig::STATE) {
    problems.Add("readout", "must be STATE when `context` is NO_CONTEXT");
  }
  if (decoder.context() == RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.initial_state() == RecurrentDecoderConfig::ZERO) {
    problems.Note(
        "initial_state",
        "ZERO with context: NO_CONTEXT hides the source from the decoder");
  }
  if (decoder.context() != RecurrentDecoderConfig::NO_CONTEXT &&
      decoder.query() == RecurrentDecoderConfig::CURRENT_STATE &&
      decoder.readout() == RecurrentDecoderConfig::STATE) {
    problems.Add("readout",
                 "must be ATTENTIONAL or STATE_CONTEXT_EMBEDDING when `query` "
                 "is CURRENT_STATE");
  }
  if (decoder.input_feeding() &&
      decoder.readout() != RecurrentDecoderConfig::ATTENTIONAL) {
    problems.Add("input_feeding", "requires `readout: ATTENTIONAL`");
  }
}

void ValidateDecoderAttention(const RecurrentDecoderConfig& decoder,
                              const Attention* attention, int64_t memory_width,
                              const AttentionRegistry& scorers,
                              ConfigProblems& problems) {
  if (decoder.context() != RecurrentDecoderConfig::ATTENTION) return;
  const ConfigProblems::Scope scope(problems, "attention");
  if (attention == nullptr) {
    problems.Add("",
                 "must set a score, such as attention { additive {} }, because "
                 "the `context` of the decoder is ATTENTION");
    return;
  }
  scorers.Validate(*attention,
                   {.heads = 1, .query = decoder.hidden(), .key = memory_width},
                   problems);
}

// Returns `whole` with the fields of `part` merged into it.
TransformerConfig Merged(TransformerConfig whole,
                         const TransformerConfig& part) {
  MergeTransformerInto(part, &whole);
  return whole;
}

// Returns the name of the field that configures a part: `name` if the part has
// its own field, or else "transformer".
const char* PathOf(bool own, const char* name) {
  return own ? name : "transformer";
}

// Reports parts that have both a recurrent and a Transformer config, and an
// alignment config that has no effect.
void ValidateKinds(const EncoderDecoderConfig& config,
                   ConfigProblems& problems) {
  if (config.has_encoder() && config.has_transformer_encoder()) {
    problems.Add("encoder",
                 "cannot be set together with `transformer_encoder`; remove "
                 "one of them");
  }
  if (!HasTransformerDecoder(config)) {
    if (config.has_alignment()) {
      problems.Note(
          "alignment",
          "has no effect: a recurrent decoder has only one attention");
    }
    return;
  }
  if (config.has_decoder()) {
    problems.Add("decoder",
                 config.has_transformer()
                     ? "cannot be set together with `transformer`, which "
                       "describes a Transformer decoder; if only the encoder "
                       "is a Transformer, use `transformer_encoder`"
                     : "cannot be set together with `transformer_decoder`; "
                       "remove one of them");
  }
  if (config.has_attention()) {
    problems.Add("attention",
                 "applies only to a recurrent decoder; for a Transformer, use "
                 "`transformer.attention.attention`");
  }
}

void ValidateTransformerEncoder(const EncoderDecoderConfig& config,
                                const AttentionRegistry& scorers,
                                ConfigProblems& problems) {
  const ConfigProblems::Scope scope(
      problems,
      PathOf(config.has_transformer_encoder(), "transformer_encoder"));
  ValidateTransformer(scorers, TransformerOfEncoder(config),
                      /*memory_width=*/0, Direction::kBoth, problems);
  // The fields checked below may be in `transformer`, where they belong to the
  // decoder.
  const TransformerConfig& own = config.transformer_encoder();
  constexpr char kNote[] = "has no effect: it applies only to a decoder";
  NoteCrossAttention(own, kNote, problems);
  for (const auto& [name, is_given] :
       {std::pair("tied_embeddings", own.has_tied_embeddings()),
        std::pair("output_transform", own.has_output_transform()),
        std::pair("output_bias", own.has_output_bias())}) {
    if (is_given) problems.Note(name, kNote);
  }
}

void ValidateTransformerDecoder(const EncoderDecoderConfig& config,
                                const AttentionRegistry& scorers,
                                ConfigProblems& problems) {
  const ConfigProblems::Scope scope(
      problems,
      PathOf(config.has_transformer_decoder(), "transformer_decoder"));
  const TransformerConfig decoder = TransformerOfDecoder(config);
  ValidateTransformer(scorers, decoder, MemoryWidth(config), Direction::kCausal,
                      problems);
  if (decoder.tied_embeddings() != TransformerConfig::SOURCE_TARGET_OUTPUT) {
    return;
  }
  if (!HasTransformerEncoder(config)) {
    problems.Add("tied_embeddings",
                 "SOURCE_TARGET_OUTPUT requires a Transformer encoder; with a "
                 "recurrent encoder, use TARGET_OUTPUT");
  } else if (MemoryWidth(config) != decoder.width()) {
    problems.Add(
        "tied_embeddings",
        absl::StrCat(
            "requires an encoder and a decoder of the same width; got ",
            MemoryWidth(config), " and ", decoder.width()));
  }
}

// Returns the config of the cross-attention that serves as the alignment of a
// Transformer decoder.
MultiHead AlignmentLayer(const EncoderDecoderConfig& config,
                         const AttentionRegistry& scorers) {
  const TransformerConfig decoder = TransformerOfDecoder(config);
  const int64_t layer = config.alignment().layer() < 0
                            ? decoder.layers() - 1
                            : config.alignment().layer();
  return LayerConfig(scorers, decoder, layer).cross_attention();
}

// The Transformer decoder must be valid.
void ValidateAlignment(const EncoderDecoderConfig& config,
                       const AttentionRegistry& scorers,
                       ConfigProblems& problems) {
  if (!config.has_alignment()) return;
  const ConfigProblems::Scope scope(problems, "alignment");
  const TransformerConfig decoder = TransformerOfDecoder(config);
  const int64_t last = decoder.layers() - 1;
  const size_t before = problems.problems().size();
  problems.RequireInRange("layer", config.alignment().layer(), -1,
                          static_cast<double>(last));
  if (problems.problems().size() > before) return;
  problems.RequireInRange("head", config.alignment().head(), -1,
                          AlignmentLayer(config, scorers).heads() - 1);
}

}  // namespace

bool HasTransformerEncoder(const EncoderDecoderConfig& config) {
  return config.has_transformer_encoder() ||
         (config.has_transformer() && !config.has_encoder());
}

bool HasTransformerDecoder(const EncoderDecoderConfig& config) {
  return config.has_transformer() || config.has_transformer_decoder();
}

TransformerConfig TransformerOfEncoder(const EncoderDecoderConfig& config) {
  return Merged(config.transformer(), config.transformer_encoder());
}

TransformerConfig TransformerOfDecoder(const EncoderDecoderConfig& config) {
  return Merged(config.transformer(), config.transformer_decoder());
}

int64_t MemoryWidth(const EncoderDecoderConfig& config) {
  if (HasTransformerEncoder(config)) {
    return TransformerOfEncoder(config).width();
  }
  const int64_t hidden = config.encoder().hidden();
  return config.encoder().bidirectional() ? 2 * hidden : hidden;
}

bool AlignmentSelectsKeys(const EncoderDecoderConfig& config,
                          const AttentionRegistry& scorers) {
  return HasSelection(HasTransformerDecoder(config)
                          ? AlignmentLayer(config, scorers).attention()
                          : config.attention());
}

void ValidateEncoderDecoder(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems) {
  ValidateKinds(config, problems);
  const size_t before = problems.problems().size();
  const bool recurrent = !HasTransformerEncoder(config);
  if (recurrent) {
    const ConfigProblems::Scope scope(problems, "encoder");
    ValidateRecurrent(config.encoder(), problems);
  } else {
    ValidateTransformerEncoder(config, scorers, problems);
    // Problems of a shared config are reported only once.
    if (problems.problems().size() > before && HasTransformerDecoder(config) &&
        !config.has_transformer_decoder()) {
      return;
    }
  }
  if (HasTransformerDecoder(config)) {
    ValidateTransformerDecoder(config, scorers, problems);
    if (problems.problems().size() == before) {
      ValidateAlignment(config, scorers, problems);
    }
    return;
  }
  ValidateDecoder(recurrent ? &config.encoder() : nullptr, config.decoder(),
                  problems);
  ValidateDecoderAttention(
      config.decoder(), config.has_attention() ? &config.attention() : nullptr,
      MemoryWidth(config), scorers, problems);
}

void ValidateSearch(const SearchConfig& config, ConfigProblems& problems) {
  problems.CheckRanges(config);
  problems.RequireInRange("beam", config.beam(), 1, kMaxBeam);
  if (config.has_max_length_ratio() && config.max_length_ratio() == 0 &&
      OutputLimit(config, /*source_ids=*/0, {}) <=
          std::max(config.min_length(), 0)) {
    problems.Add("max_length",
                 absl::StrCat("must be greater than `min_length` (",
                              std::max(config.min_length(), 0),
                              "), because each output ends with <eos>"));
  }
  problems.RequireInRange("n_best", config.n_best(), 1, kMaxBeam);
  if (!config.has_sampling()) {
    if (config.beam() > 0 && config.n_best() > config.beam()) {
      problems.Add("n_best",
                   absl::StrCat("must be at most `beam` (", config.beam(),
                                "); got ", config.n_best()));
    }
    return;
  }
  if (config.beam() > 1) {
    problems.Note(
        "beam",
        "has no effect with `sampling`, which draws `n_best` hypotheses");
  }
}

}  // namespace regard
