// A sequence-to-sequence model with its vocabularies: all that translating
// needs. It is made without data, so a finished run can be used where its
// corpus is not.
#ifndef SEQ2SEQ_TRANSLATOR_H_
#define SEQ2SEQ_TRANSLATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "data/target_lengths.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/encoder_decoder.h"

namespace regard {

class EncoderDecoderConfig;
class SearchConfig;

using Translation = Hypothesis;

// One model of an ensemble, or the only one. `forward` is this model's alone.
struct TranslationMember {
  const EncoderDecoder<float>* model;
  Forward<float>* forward;
  // Of its training. An ensemble writes as long texts as one of its members.
  TargetLengths lengths = {};
};

// The best translations of each source, at most search.n_best() and at least
// one, best first; sources are as EncodeSource() made them, and no longer than
// a memory that each decoder knows. Those of a source do not depend on the
// other sources, in any bit.
std::vector<std::vector<Translation>> TranslateIds(
    absl::Span<const TranslationMember> members,
    absl::Span<const std::vector<int32_t>> sources, const SearchConfig& search,
    bool want_weights);

class Translator {
 public:
  // `config` has passed ValidateEncoderDecoder(). `cut_tokens`: sources are cut
  // to this many ids; 0: never. `seed` is that of the parameters' first values;
  // without `finalize`, they have none. `lengths` are those of the training.
  Translator(const EncoderDecoderConfig& config,
             const AttentionRegistry& scorers, Vocabulary source,
             Vocabulary target, int64_t cut_tokens, uint64_t seed,
             Tokenizers tokenizers = {}, bool finalize = true,
             const TargetLengths& lengths = {});

  ParameterStore<float>& parameters() { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  const EncoderDecoder<float>& model() const { return model_; }
  bool has_attention() const { return model_.decoder->attends_to_memory(); }
  const Vocabulary& source_vocabulary() const { return source_; }
  const Vocabulary& target_vocabulary() const { return target_; }
  const Tokenizers& tokenizers() const { return tokenizers_; }
  const TargetLengths& lengths() const { return lengths_; }

  // Ids of a sentence with <eos>, as the model reads and writes them.
  std::vector<int32_t> EncodeSource(absl::Span<const std::string> words) const;
  std::vector<int32_t> EncodeTarget(absl::Span<const std::string> words) const;

  // Ids, <eos> included, that a source or a target can have at most.
  int64_t longest_source() const;
  int64_t longest_target() const;
  // Errors if the model does not know sources, or targets, of this length.
  absl::Status CheckSource(absl::Span<const std::string> words) const;
  absl::Status CheckTarget(absl::Span<const std::string> words) const;
  // Ids, <eos> included, that a search finds at most for `source`.
  int64_t LongestFound(absl::Span<const std::string> source,
                       const SearchConfig& search) const;
  // Cuts `words` to the longest target that passes CheckTarget(): a translation
  // that did not end may have one word more.
  void CutTarget(std::vector<std::string>* words) const;

  // TranslateIds() of sentences that pass CheckSource(), with this model alone.
  std::vector<std::vector<Translation>> Translate(
      Forward<float>& forward,
      absl::Span<const std::vector<std::string>> sources,
      const SearchConfig& search, bool want_weights) const;

  std::vector<std::string> Words(const Translation& translation) const;

  // The text that tokens stand for: raw text where there are tokenizers, else
  // the tokens with spaces between.
  std::string SourceText(absl::Span<const std::string> tokens) const;
  std::string TargetText(absl::Span<const std::string> tokens) const;

 private:
  const int64_t cut_tokens_;
  const Vocabulary source_;
  const Vocabulary target_;
  const Tokenizers tokenizers_;
  const TargetLengths lengths_;
  ParameterStore<float> parameters_;
  EncoderDecoder<float> model_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSLATOR_H_
