#include "attention/transformer/validation.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "attention/attention.pb.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/state_mixer.h"
#include "attention/transformer/transformer.pb.h"

namespace regard {

namespace {

// The fields of `config` that belong to each layer, without the pattern.
TransformerLayerConfig Parts(const TransformerConfig& config) {
  TransformerLayerConfig layer;
  *layer.mutable_attention() = config.attention();
  if (config.has_cross_attention()) {
    *layer.mutable_cross_attention() = config.cross_attention();
  }
  *layer.mutable_feed_forward() = config.feed_forward();
  if (config.has_mixer()) *layer.mutable_mixer() = config.mixer();
  return layer;
}

bool ReadsPositions(const AttentionRegistry& scorers,
                    const Attention& attention) {
  const ScorerInfo* const info = scorers.Find(attention);
  return info != nullptr &&
         info->position_aware(*scorers.ChosenOptions(attention));
}

// Fills in the defaults of a layer of `config`, with or without a pattern
// merged.
TransformerLayerConfig WithDefaults(const AttentionRegistry& scorers,
                                    const TransformerConfig& config,
                                    TransformerLayerConfig layer) {
  MultiHead& self = *layer.mutable_attention();
  if (self.attention().score_case() == Attention::SCORE_NOT_SET) {
    self.mutable_attention()->mutable_scaled_dot();
  }
  MultiHead cross = self;
  cross.mutable_attention()->clear_position_encoding();
  cross.mutable_attention()->clear_window();
  cross.clear_latent();
  cross.mutable_attention()->clear_forget();
  // An explicit `none` in self-attention is not copied, because cross-attention
  // has no sink to override.
  if (self.attention().sink().has_none()) {
    cross.mutable_attention()->clear_sink();
  }
  // Query and memory positions belong to different sequences, so
  // cross-attention does not inherit a score that reads positions.
  if (layer.cross_attention().attention().score_case() ==
          Attention::SCORE_NOT_SET &&
      !config.cross_reads_positions() &&
      ReadsPositions(scorers, self.attention())) {
    cross.mutable_attention()->mutable_scaled_dot();
  }
  ClearReplacedFields(layer.cross_attention(), &cross);
  MergeInto(layer.cross_attention(), &cross);
  if (HasLatent(cross) && !cross.latent().has_rotary_width()) {
    cross.mutable_latent()->set_rotary_width(0);
  }
  *layer.mutable_cross_attention() = cross;
  FeedForwardConfig& feed_forward = *layer.mutable_feed_forward();
  if (feed_forward.hidden() == 0) feed_forward.set_hidden(4 * config.width());
  return layer;
}

// Whether all fields except `hidden` and `none` have their defaults.
bool HasDefaults(const FeedForwardConfig& network) {
  return network.activation() == FeedForwardConfig::RELU && network.bias() &&
         network.dropout() == 0 && network.chunk() == 0;
}

void ValidateAttention(const AttentionRegistry& scorers,
                       const MultiHead& config, int64_t width,
                       int64_t key_width, ConfigProblems& problems) {
  ValidateMultiHead(scorers, config, {width, key_width, key_width}, problems);
  if (config.output_width() != 0 && config.output_width() != width) {
    problems.Add("output_width",
                 absl::StrCat("must be 0 or the width of the layer (", width,
                              "); got ", config.output_width()));
  }
}

// Adds a problem if the attention has a forget gate. A decoder keeps the sum of
// the logarithms of all earlier gates, so only causal self-attention supports a
// forget gate.
void RequireNoForget(const MultiHead& config, const char* found,
                     ConfigProblems& problems) {
  if (!HasForget(config.attention())) return;
  problems.Add("attention.forget",
               absl::StrCat("requires self-attention in which each position "
                            "reads only itself and earlier positions, as in a "
                            "language model or a decoder; ",
                            found, ": remove `forget`"));
}

void ValidateMixer(const AttentionRegistry& scorers, const MixerConfig& config,
                   int64_t width, Direction direction,
                   ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "mixer");
  scorers.mixers.ValidateChoice(config, problems, width);
  if (direction == Direction::kBoth) {
    problems.Add("",
                 "requires a model in which each position reads only itself "
                 "and earlier positions, such as a language model or a "
                 "decoder; here all positions read each other: use attention "
                 "{}");
  }
}

// Adds the problems of `layer`, whose defaults have been filled in.
void ValidateLayer(const AttentionRegistry& scorers,
                   const TransformerLayerConfig& layer, int64_t width,
                   int64_t memory_width, Direction direction,
                   ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  if (HasStateMixer(layer.mixer())) {
    ValidateMixer(scorers, layer.mixer(), width, direction, problems);
  } else {
    const ConfigProblems::Scope scope(problems, "attention");
    ValidateAttention(scorers, layer.attention(), width, width, problems);
    if (direction == Direction::kBoth) {
      RequireNoForget(layer.attention(), "here all positions read each other",
                      problems);
    }
  }
  // If self-attention has problems, cross-attention would repeat them.
  if (memory_width > 0 && problems.problems().size() == before) {
    const ConfigProblems::Scope scope(problems, "cross_attention");
    ValidateAttention(scorers, layer.cross_attention(), width, memory_width,
                      problems);
    RequireNoForget(layer.cross_attention(), "cross-attention reads a memory",
                    problems);
  }
  problems.CheckRanges(layer.feed_forward(), "feed_forward");
  if (layer.feed_forward().has_none() &&
      (layer.feed_forward().hidden() != 4 * width ||
       !HasDefaults(layer.feed_forward()))) {
    problems.Note("feed_forward.none",
                  "disables the network: the other fields of feed_forward have "
                  "no effect");
  }
}

bool Holds(const ConfigProblems& problems,
           const ConfigProblems::Problem& problem) {
  return std::ranges::any_of(
      problems.problems(), [&](const ConfigProblems::Problem& one) {
        return one.path == problem.path && one.message == problem.message;
      });
}

// Adds a note that another ConfigProblems object recorded as "path: message".
void AddNote(absl::string_view note, ConfigProblems& problems) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(note, absl::MaxSplits(": ", 1));
  problems.Note(parts.first, std::string(parts.second));
}

void AddAll(const ConfigProblems& from, ConfigProblems& problems) {
  for (const ConfigProblems::Problem& problem : from.problems()) {
    problems.AddWithin(problem.path, problem.within, problem.message);
  }
  for (const std::string& note : from.notes()) AddNote(note, problems);
}

void ValidateInitialization(const TransformerInitialization& config,
                            ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "initialization");
  problems.CheckRanges(config);
  const bool normal =
      config.weights() == NORMAL || config.weights() == TRUNCATED_NORMAL;
  if (config.scale_residual() && !normal) {
    problems.Note(
        "scale_residual",
        "has no effect unless `weights` is NORMAL or TRUNCATED_NORMAL");
  }
}

void NoteUnusedAttention(const AttentionRegistry& scorers,
                         const TransformerConfig& config, int64_t memory_width,
                         ConfigProblems& problems) {
  // With a memory, `attention` is used, because cross-attention inherits it.
  if (!config.has_attention() || memory_width > 0) return;
  for (int i = 0; i < config.layers(); ++i) {
    if (!HasStateMixer(LayerConfig(scorers, config, i).mixer())) return;
  }
  problems.Note("attention",
                "has no effect: all layers have a state mixer in its place");
}

}  // namespace

TransformerLayerConfig LayerConfig(const AttentionRegistry& scorers,
                                   const TransformerConfig& config,
                                   int64_t index) {
  TransformerLayerConfig layer = Parts(config);
  if (config.pattern_size() > 0) {
    MergeTransformerInto(
        config.pattern(static_cast<int>(index % config.pattern_size())),
        &layer);
  }
  return WithDefaults(scorers, config, std::move(layer));
}

void ClearReplacedFields(const MultiHead& part, MultiHead* whole) {
  const auto clear = [](const auto& of_part, auto* below) {
    of_part.has_none() ? below->Clear() : below->clear_none();
  };
  const Attention& attention = part.attention();
  if (part.has_latent()) clear(part.latent(), whole->mutable_latent());
  if (attention.has_sink()) {
    clear(attention.sink(), whole->mutable_attention()->mutable_sink());
  }
  if (attention.has_forget()) {
    clear(attention.forget(), whole->mutable_attention()->mutable_forget());
  }
}

void ClearDropPath(TransformerConfig* config) {
  config->clear_drop_path();
  bool differ = false;
  for (TransformerLayerConfig& layer : *config->mutable_pattern()) {
    layer.clear_drop_path();
    differ |= layer.ByteSizeLong() > 0;
  }
  if (!differ) config->clear_pattern();
}

bool ReadsPositions(const AttentionRegistry& scorers,
                    const TransformerConfig& config) {
  const int different =
      std::min(std::max(config.pattern_size(), 1), config.layers());
  for (int i = 0; i < different; ++i) {
    const TransformerLayerConfig layer = LayerConfig(scorers, config, i);
    if (HasStateMixer(layer.mixer())) continue;
    if (ReadsPositions(scorers, layer.attention().attention())) return true;
  }
  return false;
}

void ValidateTransformer(const AttentionRegistry& scorers,
                         const TransformerConfig& config, int64_t memory_width,
                         Direction direction, ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  const auto ok = [&] { return problems.problems().size() == before; };
  problems.CheckOwnRanges(config);
  problems.CheckRanges(config.norm(), "norm");
  problems.CheckRanges(config.position_embedding(), "position_embedding");
  ValidateInitialization(config.initialization(), problems);
  for (int i = 0; i < config.pattern_size(); ++i) {
    problems.CheckOwnRanges(config.pattern(i),
                            absl::StrCat("pattern[", i, "]"));
  }
  if (config.pattern_size() > config.layers()) {
    problems.Note("pattern",
                  absl::StrCat("has ", config.pattern_size(), " layers; only ",
                               config.layers(), " are used, as `layers` says"));
  }
  if (!ok()) return;
  NoteUnusedAttention(scorers, config, memory_width, problems);
  // Problems of the layer without a pattern. A problem is only reported if a
  // layer still has it after a pattern is merged.
  ConfigProblems below;
  ValidateLayer(scorers, WithDefaults(scorers, config, Parts(config)),
                config.width(), memory_width, direction, below);
  if (config.pattern_size() == 0) return AddAll(below, problems);
  ConfigProblems of_below;
  ConfigProblems of_pattern;
  for (int i = 0; i < config.pattern_size(); ++i) {
    ConfigProblems of_layer;
    ValidateLayer(scorers, LayerConfig(scorers, config, i), config.width(),
                  memory_width, direction, of_layer);
    const ConfigProblems::Scope scope(of_pattern,
                                      absl::StrCat("pattern[", i, "]"));
    for (const ConfigProblems::Problem& problem : of_layer.problems()) {
      if (!Holds(below, problem)) {
        of_pattern.AddWithin(problem.path, problem.within, problem.message);
      } else if (!Holds(of_below, problem)) {
        of_below.AddWithin(problem.path, problem.within, problem.message);
      }
    }
    for (const std::string& note : of_layer.notes()) {
      const bool is_below = std::ranges::count(below.notes(), note) > 0;
      AddNote(note, is_below ? of_below : of_pattern);
    }
  }
  AddAll(of_below, problems);
  AddAll(of_pattern, problems);
}

void NoteCrossAttention(const TransformerConfig& config, absl::string_view note,
                        ConfigProblems& problems) {
  if (config.has_cross_attention()) {
    problems.Note("cross_attention", std::string(note));
  }
  for (int i = 0; i < config.pattern_size(); ++i) {
    if (!config.pattern(i).has_cross_attention()) continue;
    problems.Note(absl::StrCat("pattern[", i, "].cross_attention"),
                  std::string(note));
  }
}

void ValidateHasNoSource(absl::string_view model,
                         const TransformerConfig& config,
                         ConfigProblems& problems) {
  NoteCrossAttention(
      config,
      absl::StrCat("has no effect: ", model, " has no memory to attend to"),
      problems);
  if (config.tied_embeddings() == TransformerConfig::SOURCE_TARGET_OUTPUT) {
    problems.Add("tied_embeddings",
                 absl::StrCat(model, " has no source: use TARGET_OUTPUT"));
  }
}

}  // namespace regard
