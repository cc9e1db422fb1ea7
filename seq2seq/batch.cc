#include "seq2seq/batch.h"

#include "data/text/vocabulary.h"

namespace regard {

namespace {

// pair(i) has the source and target of example i.
template <typename Pair>
Batch BatchOf(Pair pair, absl::Span<const int64_t> examples, Arena& arena) {
  const auto rows = static_cast<int64_t>(examples.size());
  const auto source = [&](int64_t row) { return pair(examples[row]).source; };
  const auto target = [&](int64_t row) { return pair(examples[row]).target; };
  return {
      TeacherForcing(rows, Vocabulary::kBegin, Vocabulary::kPad, arena, target),
      Pad(rows, Vocabulary::kPad, arena, source)};
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
