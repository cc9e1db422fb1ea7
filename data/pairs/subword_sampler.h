// Subword regularization: in each epoch, sentence pairs get new random
// segmentations.
//
// Kudo, "Subword regularization: improving neural network translation models
// with multiple subword candidates", ACL 2018, for unigram models. Provilkov et
// al., "BPE-dropout: simple and effective subword regularization", ACL 2020,
// for byte-pair encoding.
#ifndef DATA_PAIRS_SUBWORD_SAMPLER_H_
#define DATA_PAIRS_SUBWORD_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "data/pairs/pairs.pb.h"
#include "data/parallel_corpus.h"
#include "data/text/mapped_text.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/vocabulary.h"

namespace regard {

// Segments sentence pairs at random. Maps the text of the pairs into memory,
// and uses 16 additional bytes per pair.
class SubwordSampler {
 public:
  // Both models must support sampling. Uses subwords.sampling, max_tokens and
  // cut_tokens of the options. If a random segmentation of a side has more than
  // max_tokens tokens, the best segmentation replaces it.
  SubwordSampler(std::shared_ptr<const SentencepieceModel> source,
                 std::shared_ptr<const SentencepieceModel> target,
                 const PairsConfig& options, uint64_t seed)
      : source_(std::move(source)),
        target_(std::move(target)),
        options_(options),
        seed_(seed) {}

  // Adds the next pair. Must not be called after Finish().
  void Add(absl::string_view source, absl::string_view target);
  // Must be called after the last pair. Returns an error if the text cannot be
  // stored in a temporary file.
  absl::Status Finish() { return text_.FinishAndMap(); }

  int64_t size() const { return static_cast<int64_t>(ends_.size() / 2); }

  // Sets `corpus` to the pairs in order. The segmentation of each side depends
  // on the seed, the epoch and the index of the pair. Without an epoch, each
  // side has its best segmentation. The vocabularies must belong to the models.
  void Segment(std::optional<int64_t> epoch, const Vocabulary& source,
               const Vocabulary& target, ParallelCorpus* corpus) const;

  // Returns upper bounds on the numbers of ids of a source and of a target in
  // any epoch, including <eos>.
  std::pair<int64_t, int64_t> MaxLengths() const;

 private:
  // Returns the text of side `i`. Sources are at even indices, and targets at
  // odd indices.
  absl::string_view Text(size_t i) const {
    const int64_t begin = i == 0 ? 0 : ends_[i - 1];
    return text_.text().substr(begin, ends_[i] - begin);
  }
  const SentencepieceModel& ModelOf(size_t i) const {
    return i % 2 == 0 ? *source_ : *target_;
  }

  const std::shared_ptr<const SentencepieceModel> source_;
  const std::shared_ptr<const SentencepieceModel> target_;
  const PairsConfig options_;
  const uint64_t seed_;
  TemporaryMappedText text_;
  std::vector<int64_t> ends_;
};

}  // namespace regard

#endif  // DATA_PAIRS_SUBWORD_SAMPLER_H_
