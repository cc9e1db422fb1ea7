// Sentence pairs as ids in flat arrays: 4 bytes per token and 16 per pair.
#ifndef DATA_PARALLEL_CORPUS_H_
#define DATA_PARALLEL_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "data/text/vocabulary.h"

namespace regard {

// Returns the ids of `tokens`, followed by <eos>. Truncates the result to
// `cut_tokens` ids unless `cut_tokens` is 0.
std::vector<int32_t> EncodeSentence(absl::Span<const std::string> tokens,
                                    const Vocabulary& vocabulary,
                                    int64_t cut_tokens);

// Both sides of a pair. Refers to the memory of the corpus.
struct PairView {
  absl::Span<const int32_t> source;
  absl::Span<const int32_t> target;
};

class ParallelCorpus {
 public:
  int64_t size() const { return static_cast<int64_t>(ends_.size() / 2); }
  bool empty() const { return ends_.empty(); }

  // Pair i, 0 <= i < size().
  PairView operator[](int64_t i) const {
    const int64_t begin = i == 0 ? 0 : ends_[2 * i - 1];
    const int64_t middle = ends_[2 * i];
    const absl::Span<const int32_t> ids(ids_);
    return {ids.subspan(begin, middle - begin),
            ids.subspan(middle, ends_[2 * i + 1] - middle)};
  }

  void Add(absl::Span<const int32_t> source, absl::Span<const int32_t> target) {
    for (const absl::Span<const int32_t> side : {source, target}) {
      ids_.insert(ids_.end(), side.begin(), side.end());
      ends_.push_back(num_ids());
    }
  }
  // Removes all pairs, but keeps their memory.
  void Clear() {
    ids_.clear();
    ends_.clear();
  }

  // The total number of ids on all sides of all pairs.
  int64_t num_ids() const { return static_cast<int64_t>(ids_.size()); }

 private:
  friend class ParallelCorpusBuilder;

  std::vector<int32_t> ids_;
  std::vector<int64_t> ends_;  // ends of source and target, alternating
};

// Collects tokenized pairs and counts their tokens, until the vocabularies are
// known:
//
//   ParallelCorpusBuilder builder;
//   builder.Add(source_tokens, target_tokens);
//   const Vocabulary source = builder.SourceVocabulary(/*min_frequency=*/1);
//   ...
//   const ParallelCorpus corpus = std::move(builder).Encode(source, target);
//
// Each different token is stored once.
class ParallelCorpusBuilder {
 public:
  int64_t size() const { return pairs_.size(); }

  // Adds a pair. Neither side contains <eos>. Each token must be valid in a
  // Vocabulary.
  void Add(absl::Span<const std::string> source,
           absl::Span<const std::string> target) {
    AppendAsNumbers(pairs_, source, target);
  }
  // Counts further tokens. In the vocabularies, they follow the tokens of the
  // pairs that Add() received.
  void AddToVocabularies(absl::Span<const std::string> source,
                         absl::Span<const std::string> target) {
    AppendAsNumbers(counted_, source, target);
  }

  Vocabulary SourceVocabulary(int64_t min_frequency) const {
    return Build(/*source=*/true, /*target=*/false, min_frequency);
  }
  Vocabulary TargetVocabulary(int64_t min_frequency) const {
    return Build(/*source=*/false, /*target=*/true, min_frequency);
  }
  Vocabulary SharedVocabulary(int64_t min_frequency) const {
    return Build(/*source=*/true, /*target=*/true, min_frequency);
  }

  // Encodes each side of the pairs as EncodeSentence() does.
  ParallelCorpus Encode(const Vocabulary& source, const Vocabulary& target,
                        int64_t cut_tokens = 0) &&;

 private:
  void AppendAsNumbers(ParallelCorpus& pairs,
                       absl::Span<const std::string> source,
                       absl::Span<const std::string> target);
  Vocabulary Build(bool source, bool target, int64_t min_frequency) const;

  // Until Encode(), the ids in these corpora are indices from `numbers_`, not
  // ids of a vocabulary.
  ParallelCorpus pairs_;
  ParallelCorpus counted_;
  absl::flat_hash_map<std::string, int32_t> numbers_;
};

}  // namespace regard

#endif  // DATA_PARALLEL_CORPUS_H_
