// A sequence-to-sequence model with its vocabularies: everything that
// translation needs. It does not depend on training data, so a finished run can
// be used without its corpus.
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

// One model of an ensemble, or the only model. No other member may use
// `forward`.
struct TranslationMember {
  const EncoderDecoder<float>* model;
  Forward<float>* forward;
  // The lengths of the training targets. The length limit of an ensemble is the
  // greatest limit of its members.
  TargetLengths lengths = {};
};

// Returns the translations of each source, best first. A source has at least
// one and at most search.n_best() translations. `sources` are results of
// EncodeSource(), and must not be longer than the decoders support. The
// translations of a source are bit-identical in any batch of sources.
std::vector<std::vector<Translation>> TranslateIds(
    absl::Span<const TranslationMember> members,
    absl::Span<const std::vector<int32_t>> sources, const SearchConfig& search,
    bool want_weights);

class Translator {
 public:
  // `config` must have passed ValidateEncoderDecoder(). Sources are truncated
  // to `cut_tokens` ids unless `cut_tokens` is 0. `seed` determines the initial
  // values of the parameters. Without `finalize`, the parameters stay
  // uninitialized. `lengths` are the lengths of the training targets.
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

  // Returns the ids of a sentence, <eos> included, as the model reads and
  // writes them.
  std::vector<int32_t> EncodeSource(absl::Span<const std::string> words) const;
  std::vector<int32_t> EncodeTarget(absl::Span<const std::string> words) const;

  // The maximum number of ids of a source or a target, <eos> included.
  int64_t longest_source() const;
  int64_t longest_target() const;
  // Returns an error if the model does not support a source or a target of this
  // length.
  absl::Status CheckSourceLength(absl::Span<const std::string> words) const;
  absl::Status CheckTargetLength(absl::Span<const std::string> words) const;
  // Returns the maximum number of ids that a search generates for `source`,
  // <eos> included.
  int64_t MaxOutputIds(absl::Span<const std::string> source,
                       const SearchConfig& search) const;
  // Truncates `words` to the longest target that passes CheckTargetLength(). A
  // translation that did not end may be one word too long.
  void TruncateTarget(std::vector<std::string>* words) const;

  // Calls TranslateIds() with only this model. Sources must pass
  // CheckSourceLength().
  std::vector<std::vector<Translation>> Translate(
      Forward<float>& forward,
      absl::Span<const std::vector<std::string>> sources,
      const SearchConfig& search, bool want_weights) const;

  std::vector<std::string> Words(const Translation& translation) const;

  // Returns the text of tokens: raw text if there are tokenizers, else the
  // tokens joined by spaces.
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
