#include "seq2seq/decoding/search_trace.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace regard {

bool IsBetter(const EndedHypothesis& a, const EndedHypothesis& b) {
  const auto order = [](const EndedHypothesis& ended) {
    return std::make_tuple(!ended.complete, -ended.score, ended.length,
                           ended.partial.row, ended.partial.last,
                           ended.partial.sample);
  };
  return order(a) < order(b);
}

void BestEndedHypotheses::Add(const EndedHypothesis& ended) {
  size_t place = count_;
  while (place > 0 && IsBetter(ended, storage_[place - 1])) --place;
  if (place == storage_.size()) return;
  count_ = std::min(count_ + 1, storage_.size());
  EndedHypothesis* const at = storage_.data() + place;
  std::copy_backward(at, storage_.data() + count_ - 1,
                     storage_.data() + count_);
  *at = ended;
}

}  // namespace regard
