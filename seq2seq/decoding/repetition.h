// What a search does against texts that repeat themselves.
#ifndef SEQ2SEQ_DECODING_REPETITION_H_
#define SEQ2SEQ_DECODING_REPETITION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

// Changes the scores of the ids that may follow a text, as the processors of
// transformers do that are named in search.proto, in their order: first
// repetition_penalty, then no_repeat_ngram.
class Repetition {
 public:
  // `config` is valid. The storage is of `arena`.
  Repetition(const SearchConfig& config, int64_t vocabulary, Arena& arena);

  // Whether the config changes any score.
  static bool IsOn(const SearchConfig& config) {
    return config.repetition_penalty() != 1 || config.no_repeat_ngram() > 0;
  }

  // `scores` [vocabulary] are logits or log-probabilities of what follows
  // `text`, the prompt included; ids beyond the vocabulary have none. An id
  // that would repeat an n-gram gets -inf. O(length of the text).
  void Apply(absl::Span<const int32_t> text, absl::Span<float> scores);

 private:
  void Penalize(absl::Span<const int32_t> text, absl::Span<float> scores);
  void Forbid(absl::Span<const int32_t> text, absl::Span<float> scores) const;

  const float penalty_;
  const size_t n_;
  absl::Span<uint8_t> seen_;  // [vocabulary]; all 0 between calls
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_REPETITION_H_
