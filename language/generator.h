// Continues a text id by id.
#ifndef LANGUAGE_GENERATOR_H_
#define LANGUAGE_GENERATOR_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "language/language_model.h"
#include "nn/forward.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

struct GenerationOptions {
  // How ids are drawn; top_k: 1 always takes the likeliest.
  SamplingConfig sampling;
  int64_t length = 0;  // ids that are generated at most
};

// Draws ids after `prompt`, which is not empty, and calls emit() with each
// until there are options.length of them, the model ends the text, or emit()
// returns false. Returns whether the model ended it; <eos> is not emitted.
//
// Keys and values are cached. When the ids read would exceed the model's block,
// the last half block of the text is read again and generation goes on from it;
// of a prompt that is longer than a block, the same.
//
// What is drawn depends on the prompt and the options alone, in every bit.
// `forward` has no gradients; this begins a step of it.
bool Generate(const LanguageModel& model, Forward<float>& forward,
              absl::Span<const int32_t> prompt,
              const GenerationOptions& options,
              absl::FunctionRef<bool(int32_t id)> emit);

}  // namespace regard

#endif  // LANGUAGE_GENERATOR_H_
