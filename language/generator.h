// Generates continuations of texts with a language model.
#ifndef LANGUAGE_GENERATOR_H_
#define LANGUAGE_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "language/language_model.h"
#include "nn/forward.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

struct GenerationOptions {
  // The search. Must have passed ValidateSearch(). `length` replaces its fields
  // max_length and max_length_ratio.
  SearchConfig search;
  int64_t length = 0;  // maximum number of ids to generate, <eos> included
  // A continuation is complete when it contains one of these strings
  // (IncrementalTextDecoder). No string may be empty.
  std::vector<std::string> stops = {};
};

// Called with the index of a prompt and each id that follows it, except <eos>.
// If it returns false, the continuation of this prompt stops.
using OnGenerated = std::function<bool(size_t prompt, int32_t id)>;

// Returns the continuations of each prompt, best first: the hypotheses of a
// search (seq2seq/decoding/search.h). A continuation ends after options.length
// ids or when the model ends the text. Prompts must not be empty. A non-null
// `on_id` requires a search with one hypothesis per prompt.
//
// Keys and values are cached. When a text has filled a block
// (LanguageModel::block()), the last half block is read again, and generation
// continues from there. Only the last half block of a longer prompt is read.
//
// Successive prompts are computed together, even if their lengths differ. A
// continuation depends only on the prompt and the options and is bit-identical
// in any batch. Random numbers are a function of the seed, the prompt's ids and
// the position. `forward` must have no gradients. This function begins steps of
// `forward`.
std::vector<std::vector<Hypothesis>> Generate(
    const LanguageModel& model, Forward<float>& forward,
    absl::Span<const std::vector<int32_t>> prompts,
    const GenerationOptions& options, const OnGenerated& on_id = nullptr);

}  // namespace regard

#endif  // LANGUAGE_GENERATOR_H_
