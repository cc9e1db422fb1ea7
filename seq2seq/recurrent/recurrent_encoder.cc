#include "seq2seq/recurrent/recurrent_encoder.h"

#include "autodiff/ops/dropout.h"
#include "autodiff/ops/shape_ops.h"
#include "seq2seq/recurrent/recurrent_stack.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

RecurrentConfig StackOf(const RecurrentEncoderConfig& config) {
  RecurrentConfig stack = RecurrentStack(config);
  stack.set_bidirectional(config.bidirectional());
  return stack;
}

}  // namespace

template <typename T>
RecurrentEncoder<T>::RecurrentEncoder(const RecurrentEncoderConfig& config,
                                      int64_t vocabulary,
                                      const ParameterScope<T>& scope)
    : config_(config),
      embedding_(scope.Sub("embedding"), vocabulary, config.embedding()),
      rnn_(scope.Sub("rnn"), StackOf(config), config.embedding()) {}

template <typename T>
Memory<T> RecurrentEncoder<T>::Encode(Forward<T>& forward,
                                      absl::Span<const int32_t> ids,
                                      absl::Span<const int32_t> lengths) const {
  const NameScope<T> scope(forward.tape(), "encoder");
  const auto sources = static_cast<int64_t>(lengths.size());
  const auto size = static_cast<int64_t>(ids.size());
  REGARD_CHECK(sources > 0 && size % sources == 0)
      << size << " ids of " << sources << " sources";
  const Var<T> embedded =
      Dropout(embedding_(forward, ids, {sources, size / sources}),
              config_.embedding_dropout(), "embedding");
  const RecurrentOutputs<T> encoded = rnn_.Run(forward, embedded, lengths);
  Memory<T> memory = {.sources = sources,
                      .values = encoded.sequence,
                      .lengths = lengths,
                      .summary = rnn_.Output(encoded.final_state),
                      .final_state = encoded.final_state};
  if (config_.bidirectional()) {
    const Var<T> directions[] = {memory.summary,
                                 rnn_.Output(encoded.reverse_final_state)};
    memory.summary = Concat<T>(directions, /*axis=*/-1);
    memory.final_state = encoded.reverse_final_state;
  }
  return memory;
}

REGARD_INSTANTIATE_CLASS(RecurrentEncoder);

}  // namespace regard
