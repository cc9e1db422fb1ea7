// The data sources of sentence pairs for translation, and their data.
#ifndef DATA_PAIRS_SENTENCE_SOURCE_H_
#define DATA_PAIRS_SENTENCE_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/data_source.h"
#include "data/pairs/subword_sampler.h"
#include "data/parallel_corpus.h"
#include "data/sentence_pair.h"
#include "data/target_lengths.h"
#include "data/text/prepared_text.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/vocabulary.h"

namespace regard {

class Data;

struct SentenceData {
  static constexpr char kName[] = "sentence pairs";

  ParallelCorpusBuilder train = {};
  EvaluationSet dev = {};
  std::vector<EvaluationSet> tests = {};
  // Pairs that are translated at the end of training, before pairs of the test
  // split.
  std::vector<SentencePair> samples = {};
  // The largest number of ids of a side, including <eos>. Longer sides are
  // truncated. 0 means no limit.
  int64_t cut_tokens = 0;
  // The minimum count of a word in training. Rarer words become <unk>.
  int64_t min_frequency = 1;
  // The vocabularies, if they are not built from the words of `train`.
  std::optional<Vocabulary> source_vocabulary = {};
  std::optional<Vocabulary> target_vocabulary = {};
  // The target lengths that a trained model has stored. If absent, the lengths
  // of `train` apply.
  std::optional<TargetLengths> lengths = {};
  // The tokenizers of raw text. Null if sentences are split into words.
  Tokenizers tokenizers = {};
  // Makes a new segmentation of `train` in each epoch. Null if the segmentation
  // is fixed.
  std::shared_ptr<const SubwordSampler> sampler = {};
  // The files from which the tokenizers can be made again. Maps file names in
  // the run folder to contents.
  std::map<std::string, std::string> files = {};
  // Notes for the user, such as omitted pairs. One sentence each.
  std::vector<std::string> notes = {};
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests = {};
};

class SentenceSource : public DataSource<SentenceData> {
 public:
  // The value of SentenceData::cut_tokens, available before the data is loaded.
  virtual int64_t cut_tokens() const { return 0; }
  // The rule by which typed text is split into words.
  virtual WordPreparation words() const { return WordPreparation::kPrepared; }

  // Returns the gold alignments of two sentences without <eos>. Empty if they
  // are not known.
  virtual std::vector<AlignmentLink> GoldLinks(
      const DataRequest& /*request*/,
      const std::vector<std::string>& /*source*/,
      const std::vector<std::string>& /*target*/) const {
    return {};
  }

  // Makes the tokenizers from the files that the data stored. The tokenizers
  // are null if sentences are split into words.
  virtual absl::StatusOr<Tokenizers> MakeTokenizers(
      const ReadRunFile& /*read*/) const {
    return Tokenizers();
  }
};

// Returns the data source of a valid config, or null if it is not a
// SentenceSource.
std::unique_ptr<SentenceSource> SentenceSourceOf(
    const Data& config, const DataSourceRegistry& sources);

}  // namespace regard

#endif  // DATA_PAIRS_SENTENCE_SOURCE_H_
