// Penalties for texts that repeat themselves.
#ifndef SEQ2SEQ_DECODING_REPETITION_H_
#define SEQ2SEQ_DECODING_REPETITION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

// Changes the scores of the ids that may follow a text: first by
// repetition_penalty, then by no_repeat_ngram. Has the same effect as two
// logits processors of Hugging Face transformers, which search.proto names.
class RepetitionProcessor {
 public:
  // `config` must be valid. Storage comes from `arena`.
  RepetitionProcessor(const SearchConfig& config, int64_t vocabulary,
                      Arena& arena);

  // Whether the config changes any score.
  static bool IsOn(const SearchConfig& config) {
    return config.repetition_penalty() != 1 || config.no_repeat_ngram() > 0;
  }

  // Changes `scores` [vocabulary], which are logits or log-probabilities of the
  // next id after `text`, prompt included. An id that would repeat an n-gram
  // gets -inf. Ids of `text` beyond the vocabulary have no score. Cost:
  // O(length of the text).
  void Apply(absl::Span<const int32_t> text, absl::Span<float> scores);

 private:
  void Penalize(absl::Span<const int32_t> text, absl::Span<float> scores);
  void ForbidRepeats(absl::Span<const int32_t> text,
                     absl::Span<float> scores) const;

  const float penalty_;
  const size_t n_;
  absl::Span<uint8_t> seen_;  // [vocabulary]; all 0 between calls
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_REPETITION_H_
