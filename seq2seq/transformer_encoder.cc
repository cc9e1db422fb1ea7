#include "seq2seq/transformer_encoder.h"

#include <algorithm>

#include "attention/scoring_function.h"
#include "attention/weighted_values.h"

namespace regard {

namespace {

// The mean of the first lengths[i] rows of each source of x [sources, time,
// width]; 0 if there is none.
template <typename T>
Var<T> MeanOfValid(Var<T> x, absl::Span<const int32_t> lengths) {
  const int64_t sources = x.dim(0);
  const int64_t time = x.dim(1);
  const int64_t width = x.dim(2);
  const Var<T> weights = x.tape().Full({sources, 1, 1, time}, T(0));
  for (int64_t i = 0; i < sources; ++i) {
    const int32_t length = lengths[static_cast<size_t>(i)];
    std::fill_n(weights.data() + i * time, length,
                T(1) / static_cast<T>(std::max(length, 1)));
  }
  return WeightedValues(weights, {.key_lengths = lengths},
                        x.WithShape({sources, 1, time, width}))
      .WithShape({sources, width});
}

}  // namespace

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
          .summary = MeanOfValid(values, lengths)};
}

template <typename T>
int64_t TransformerEncoder<T>::longest_position() const {
  const int64_t distance = stack_.LongestDistance();
  return std::min(embedding_.longest_position(), distance == kAnyDistance
                                                     ? Encoder<T>::kUnlimited
                                                     : distance + 1);
}

template class TransformerEncoder<float>;
template class TransformerEncoder<double>;

}  // namespace regard
