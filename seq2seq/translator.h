// A sequence-to-sequence model with its vocabularies: all that translating
// needs. It is made without data, so a finished run can be used where its
// corpus is not.
#ifndef SEQ2SEQ_TRANSLATOR_H_
#define SEQ2SEQ_TRANSLATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/scorer_registry.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/search.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/seq2seq_model.h"
#include "seq2seq/vocabulary.h"

namespace regard {

class Translator {
 public:
  // The configs have passed ValidateSeq2Seq(). `num_steps`: sources are cut to
  // this many ids; 0: never. `seed` is that of the parameters' first values.
  Translator(const Encoder& encoder, const Decoder& decoder,
             const Attention& attention, const ScorerRegistry& scorers,
             Vocabulary source, Vocabulary target, int64_t num_steps,
             uint64_t seed);

  ParameterStore<float>& parameters() { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  const Seq2SeqModel<float>& model() const { return model_; }
  const Vocabulary& source_vocabulary() const { return source_; }
  const Vocabulary& target_vocabulary() const { return target_; }

  // Ids of a sentence with <eos>, as the model reads and writes them.
  std::vector<int32_t> EncodeSource(absl::Span<const std::string> words) const;
  std::vector<int32_t> EncodeTarget(absl::Span<const std::string> words) const;

  // The best translation of each source, with attention weights. Does not
  // depend on the other sources, in any bit.
  std::vector<Translation> Translate(
      Forward<float>& forward,
      absl::Span<const std::vector<std::string>> sources, int beam) const;

  // Words of a translation.
  std::vector<std::string> Words(const Translation& translation) const;

 private:
  const int64_t num_steps_;
  const Vocabulary source_;
  const Vocabulary target_;
  ParameterStore<float> parameters_;
  Seq2SeqModel<float> model_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSLATOR_H_
