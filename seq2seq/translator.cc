#include "seq2seq/translator.h"

#include <utility>

#include "seq2seq/batch.h"

namespace regard {

Translator::Translator(const Encoder& encoder, const Decoder& decoder,
                       const Attention& attention,
                       const ScorerRegistry& scorers, Vocabulary source,
                       Vocabulary target, int64_t num_steps, uint64_t seed)
    : num_steps_(num_steps),
      source_(std::move(source)),
      target_(std::move(target)),
      model_(encoder, decoder, attention, scorers,
             {.source_vocabulary = source_.size(),
              .target_vocabulary = target_.size()},
             parameters_.Root()) {
  parameters_.Finalize(seed);
}

std::vector<int32_t> Translator::EncodeSource(
    absl::Span<const std::string> words) const {
  return EncodeSentence(words, source_, num_steps_);
}

std::vector<int32_t> Translator::EncodeTarget(
    absl::Span<const std::string> words) const {
  return EncodeSentence(words, target_, num_steps_);
}

std::vector<Translation> Translator::Translate(
    Forward<float>& forward, absl::Span<const std::vector<std::string>> sources,
    int beam) const {
  std::vector<std::vector<int32_t>> ids;
  for (const auto& source : sources) ids.push_back(EncodeSource(source));
  return Search(model_, forward, ids, {.beam = beam});
}

std::vector<std::string> Translator::Words(
    const Translation& translation) const {
  return target_.Decode(translation.ids);
}

}  // namespace regard
