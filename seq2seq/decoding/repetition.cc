#include "seq2seq/decoding/repetition.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "seq2seq/decoding/search.pb.h"

namespace regard {

namespace {

bool Has(absl::Span<const float> scores, int32_t id) {
  return id >= 0 && static_cast<size_t>(id) < scores.size();
}

}  // namespace

RepetitionProcessor::RepetitionProcessor(const SearchConfig& config,
                                         int64_t vocabulary, Arena& arena)
    : penalty_(static_cast<float>(config.repetition_penalty())),
      n_(static_cast<size_t>(config.no_repeat_ngram())),
      seen_(arena.New<uint8_t>(vocabulary), static_cast<size_t>(vocabulary)) {
  std::fill(seen_.begin(), seen_.end(), uint8_t{0});
}

void RepetitionProcessor::Apply(absl::Span<const int32_t> text,
                                absl::Span<float> scores) {
  if (penalty_ != 1) Penalize(text, scores);
  if (n_ > 0) ForbidRepeats(text, scores);
}

// An id is penalized only once, however often it occurs.
void RepetitionProcessor::Penalize(absl::Span<const int32_t> text,
                                   absl::Span<float> scores) {
  for (const int32_t id : text) {
    if (!Has(scores, id) || seen_[id] != 0) continue;
    seen_[id] = 1;
    float& score = scores[id];
    score = score < 0 ? score * penalty_ : score / penalty_;
  }
  for (const int32_t id : text) {
    if (Has(scores, id)) seen_[id] = 0;
  }
}

void RepetitionProcessor::ForbidRepeats(absl::Span<const int32_t> text,
                                        absl::Span<float> scores) const {
  if (text.size() < n_) return;
  const absl::Span<const int32_t> last = text.last(n_ - 1);
  for (size_t i = 0; i + n_ <= text.size(); ++i) {
    const int32_t next = text[i + n_ - 1];
    if (Has(scores, next) && text.subspan(i, n_ - 1) == last) {
      scores[next] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace regard
