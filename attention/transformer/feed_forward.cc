#include "attention/transformer/feed_forward.h"

#include <algorithm>

#include "absl/types/span.h"
#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/swiglu.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> Activate(FeedForwardConfig_Activation activation, Var<T> x) {
  REGARD_CHECK(activation != FeedForwardConfig::SWIGLU) << "of one operand";
  switch (activation) {
    case FeedForwardConfig::GELU:
      return Gelu(x);
    case FeedForwardConfig::GELU_TANH:
      return GeluTanh(x);
    default:
      return Relu(x);
  }
}

template <typename T>
FeedForward<T>::FeedForward(const FeedForwardConfig& config,
                            const TransformerInitialization& initialization,
                            int64_t width, int64_t branches,
                            const ParameterScope<T>& scope)
    : activation_(config.activation()),
      dropout_(static_cast<T>(config.dropout())),
      chunk_(config.chunk()),
      input_(scope.Sub("input"), width, config.hidden(),
             LinearInitialization(initialization, config.bias())),
      output_(scope.Sub("output"), config.hidden(), width,
              BranchInitialization(initialization, config.bias(), branches)) {
  if (config.activation() == FeedForwardConfig::SWIGLU) {
    gate_.emplace(scope.Sub("gate"), width, config.hidden(),
                  LinearInitialization(initialization, config.bias()));
  }
}

template <typename T>
Var<T> FeedForward<T>::Compute(Forward<T>& forward, Var<T> x,
                               int64_t first) const {
  const Var<T> input = input_(forward, x);
  const Var<T> hidden = gate_.has_value() ? SwiGlu((*gate_)(forward, x), input)
                                          : Activate(activation_, input);
  return output_(forward, Dropout(hidden, dropout_, "activation", first));
}

template <typename T>
Var<T> FeedForward<T>::operator()(Forward<T>& forward, Var<T> x) const {
  REGARD_CHECK_EQ(x.shape().rank(), 3) << "feed-forward of " << x.shape();
  const int64_t time = x.dim(1);
  if (chunk_ == 0 || time <= chunk_) return Compute(forward, x, 0);
  Tape<T>& tape = forward.tape();
  const int64_t count = (time + chunk_ - 1) / chunk_;
  const auto length = [&](int64_t i) {
    return std::min(chunk_, time - i * chunk_);
  };
  auto* const parts = tape.arena().template New<Var<T>>(count);
  const Var<T> y = tape.Constant(x.shape());
  const int64_t row = x.dim(2);
  bool needs_grad = false;
  for (int64_t i = 0; i < count; ++i) {
    const typename Tape<T>::Mark mark = tape.Save();
    const Var<T> part =
        Compute(forward, Slice(x, 1, i * chunk_, length(i)), i * chunk_);
    needs_grad = part.needs_grad();
    if (needs_grad) {
      parts[i] = part;
      continue;
    }
    const int64_t size = length(i) * row;
    for (int64_t b = 0; b < x.dim(0); ++b) {
      std::copy_n(part.data() + b * size, size,
                  y.data() + (b * time + i * chunk_) * row);
    }
    tape.Rewind(mark);
  }
  if (!needs_grad) return y;
  return Concat(absl::MakeConstSpan(parts, static_cast<size_t>(count)),
                /*axis=*/1);
}

REGARD_INSTANTIATE_FUNCTION(Activate);
REGARD_INSTANTIATE_CLASS(FeedForward);

}  // namespace regard
