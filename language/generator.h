// Continues texts id by id.
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
  // How ids are chosen, which has passed ValidateSearch(). In place of its
  // limits max_length and max_length_ratio, `length` holds.
  SearchConfig search;
  int64_t length = 0;  // ids that are generated at most, an ending one included
  // What follows a prompt is complete with the id that completes one of these
  // (TextStream); none is empty.
  std::vector<std::string> stops = {};
};

// Called with the number of a prompt and each id that follows it, but <eos>;
// where it returns false, that text goes no further.
using OnGenerated = std::function<bool(size_t prompt, int32_t id)>;

// What follows each prompt, none of which is empty: the hypotheses of the one
// search (seq2seq/decoding/search.h), best first, until there are
// options.length ids or the model ends the text. `on_id`, which may be null,
// needs a search with one hypothesis for each prompt.
//
// Keys and values are cached. When the ids read would exceed the model's block,
// the last half block of the text is read again and generation goes on from it;
// of a prompt that is longer than a block, the same.
//
// Successive prompts share products, also if they are of unequal length. What
// follows a prompt depends on it and the options alone, in every bit: random
// numbers are a function of the seed, the prompt's ids and the place.
// `forward` has no gradients; this begins steps of it.
std::vector<std::vector<Hypothesis>> Generate(
    const LanguageModel& model, Forward<float>& forward,
    absl::Span<const std::vector<int32_t>> prompts,
    const GenerationOptions& options, const OnGenerated& on_id = nullptr);

}  // namespace regard

#endif  // LANGUAGE_GENERATOR_H_
