#include "seq2seq/transformer_encoder.h"

#include <algorithm>

#include "attention/kernels/weighted_values.h"
#include "attention/scoring_function.h"

namespace regard {

template <typename T>
TransformerEncoder<T>::TransformerEncoder(const TransformerConfig& config,
                                          const ScorerRegistry& scorers,
                                          int64_t vocabulary,
                                          const ParameterScope<T>& scope)
    : embedding_(config, vocabulary, scope),
      stack_(scorers, config, /*memory_width=*/0, scope) {}

template <typename T>
Memory<T> TransformerEncoder<T>::Encode(
    Forward<T>& forward, absl::Span<const int32_t> ids,
    absl::Span<const int32_t> lengths) const {
  const NameScope<T> scope(forward.tape(), "encoder");
  const auto sources = static_cast<int64_t>(lengths.size());
  const Var<T> x = embedding_(forward, ids, sources, /*first=*/0);
  const Var<T> values =
      stack_(forward, x, {.mask = {.key_lengths = lengths}}, {}, {});
  return {.sources = sources,
          .values = values,
          .lengths = lengths,
          .summary = MeanOfLengths(values, lengths)};
}

template <typename T>
int64_t TransformerEncoder<T>::longest_position() const {
  return std::min(embedding_.longest_position(), stack_.longest_position());
}

REGARD_INSTANTIATE_CLASS(TransformerEncoder);

}  // namespace regard
