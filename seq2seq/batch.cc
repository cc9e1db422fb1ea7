#include "seq2seq/batch.h"

#include <algorithm>

#include "data/text/vocabulary.h"

namespace regard {

namespace {

// pair(i) has the source and target of example i.
template <typename Pair>
Batch BatchOf(Pair pair, absl::Span<const int64_t> examples, Arena& arena) {
  Batch batch;
  batch.size = static_cast<int64_t>(examples.size());
  for (const int64_t example : examples) {
    const PairView view = pair(example);
    batch.source_time = std::max<int64_t>(
        batch.source_time, static_cast<int64_t>(view.source.size()));
    batch.target_time = std::max<int64_t>(
        batch.target_time, static_cast<int64_t>(view.target.size()));
  }
  const auto padded = [&](int64_t count) {
    auto* ids = arena.New<int32_t>(count);
    std::fill_n(ids, count, Vocabulary::kPad);
    return absl::MakeSpan(ids, static_cast<size_t>(count));
  };
  const absl::Span<int32_t> source = padded(batch.size * batch.source_time);
  const absl::Span<int32_t> lengths = padded(batch.size);
  const absl::Span<int32_t> input = padded(batch.size * batch.target_time);
  const absl::Span<int32_t> target = padded(batch.size * batch.target_time);
  const absl::Span<int32_t> target_lengths = padded(batch.size);
  for (int64_t b = 0; b < batch.size; ++b) {
    const PairView view = pair(examples[b]);
    std::copy(view.source.begin(), view.source.end(),
              source.begin() + b * batch.source_time);
    lengths[b] = static_cast<int32_t>(view.source.size());
    target_lengths[b] = static_cast<int32_t>(view.target.size());
    auto* row = input.data() + b * batch.target_time;
    row[0] = Vocabulary::kBegin;
    std::copy(view.target.begin(), view.target.end() - 1, row + 1);
    std::copy(view.target.begin(), view.target.end(),
              target.begin() + b * batch.target_time);
  }
  batch.source = source;
  batch.source_lengths = lengths;
  batch.target_input = input;
  batch.target = target;
  batch.target_lengths = target_lengths;
  return batch;
}

}  // namespace

Batch MakeBatch(absl::Span<const EncodedPair> pairs,
                absl::Span<const int64_t> examples, Arena& arena) {
  const auto pair = [&](int64_t i) -> PairView {
    return {pairs[i].source, pairs[i].target};
  };
  return BatchOf(pair, examples, arena);
}

Batch MakeBatch(const ParallelCorpus& corpus,
                absl::Span<const int64_t> examples, Arena& arena) {
  return BatchOf([&](int64_t i) { return corpus[i]; }, examples, arena);
}

}  // namespace regard
