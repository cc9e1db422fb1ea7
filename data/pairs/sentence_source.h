// Where the sentence pairs of a translation come from.
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

  TokenizedCorpus train = {};
  EvaluationSet dev = {};
  std::vector<EvaluationSet> tests = {};
  // Shown, and translated, at the end, before those of the test split.
  std::vector<SentencePair> samples = {};
  // Longer sides are cut to this many ids, <eos> included; 0: never.
  int64_t cut_tokens = 0;
  // Words seen less often in training become <unk>.
  int64_t min_frequency = 1;
  // Where they do not come from the words of `train`.
  std::optional<Vocabulary> source_vocabulary = {};
  std::optional<Vocabulary> target_vocabulary = {};
  // Of a trained model's training; else they are those of `train`.
  std::optional<TargetLengths> lengths = {};
  // They cut raw text; null where sentences are words.
  Tokenizers tokenizers = {};
  // Where each epoch segments `train` anew; else null.
  std::shared_ptr<const SubwordSampler> sampler = {};
  // Contents of the files that making the tokenizers again needs, by their
  // names in the run folder.
  std::map<std::string, std::string> files = {};
  // What the user should know of the data, a sentence each: what was left out.
  std::vector<std::string> notes = {};
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests = {};
};

class SentenceSource : public DataSource<SentenceData> {
 public:
  // That of the data, known without loading it.
  virtual int64_t cut_tokens() const { return 0; }
  // How typed text becomes words.
  virtual WordRule words() const { return WordRule::kPrepared; }

  // Gold links of a pair, in words without <eos>; empty if not known.
  virtual std::vector<AlignmentLink> GoldLinks(
      const DataRequest& /*request*/,
      const std::vector<std::string>& /*source*/,
      const std::vector<std::string>& /*target*/) const {
    return {};
  }

  // From the files that the data kept; null ones where sentences are words.
  virtual absl::StatusOr<Tokenizers> MakeTokenizers(
      const ReadRunFile& /*read*/) const {
    return Tokenizers();
  }
};

// The source that a valid config chose; null if it gives other data.
std::unique_ptr<SentenceSource> SentenceSourceOf(
    const Data& config, const DataSourceRegistry& sources);

}  // namespace regard

#endif  // DATA_PAIRS_SENTENCE_SOURCE_H_
