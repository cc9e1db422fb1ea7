#include "attention/mixers/short_convolution.h"

#include <algorithm>
#include <cmath>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

struct Extents {
  int64_t rows;
  int64_t time;
  int64_t channels;
  int64_t taps;  // n
};

// Calls f(index of y[t, 0], index of x[s, 0], i) for each position t and tap i,
// in ascending order. The tap reads position s. Taps with s < 0 are skipped.
template <typename F>
void ForEachTap(const Extents& extents, F f) {
  const auto [rows, time, channels, taps] = extents;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t i = std::max<int64_t>(0, taps - 1 - t); i < taps; ++i) {
        f((row * time + t) * channels,
          (row * time + t - taps + 1 + i) * channels, i);
      }
    }
  }
}

}  // namespace

template <typename T>
Var<T> CausalConvolution(Var<T> x, Var<T> weight) {
  Tape<T>* const tape = &TapeOf("CausalConvolution", x, weight);
  REGARD_CHECK(x.shape().rank() == 3 && weight.shape().rank() == 2 &&
               weight.dim(0) == x.dim(2) && weight.dim(1) > 0)
      << "CausalConvolution of " << x.shape() << " with weight "
      << weight.shape();
  const Extents extents = {x.dim(0), x.dim(1), x.dim(2), weight.dim(1)};
  const int64_t channels = extents.channels;
  const int64_t taps = extents.taps;
  // Transposes the weights, so that loops over channels read contiguous
  // elements.
  const auto by_taps = [=](T* to) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < taps; ++i) to[i * channels + c] = weight.at(c, i);
    }
  };
  Var<T> y = tape->NewLike(x, x.needs_grad() || weight.needs_grad());
  {
    ScratchScope<T> scope(*tape);
    T* const weights = scope.New(channels * taps);
    by_taps(weights);
    std::fill_n(y.data(), y.size(), T(0));
    ForEachTap(extents, [=](int64_t to, int64_t from, int64_t i) {
      AddOrAssign(/*accumulate=*/true, channels, y.data() + to,
                  [w = weights + i * channels,
                   in = x.data() + from](int64_t c) { return w[c] * in[c]; });
    });
  }
  tape->Record("CausalConvolution", y, [=] {
    T* const d_x = GradToAddTo(x);
    T* const d_weight = GradToAddTo(weight);
    ScratchScope<T> scope(*tape);
    T* const weights = scope.New(channels * taps);
    T* const d_weights = scope.New(channels * taps);
    by_taps(weights);
    std::fill_n(d_weights, channels * taps, T(0));
    ForEachTap(extents, [=](int64_t to, int64_t from, int64_t i) {
      const T* const g = y.grad_data() + to;
      if (d_x != nullptr) {
        const T* const w = weights + i * channels;
        AddOrAssign(/*accumulate=*/true, channels, d_x + from,
                    [=](int64_t c) { return w[c] * g[c]; });
      }
      const T* const in = x.data() + from;
      AddOrAssign(/*accumulate=*/true, channels, d_weights + i * channels,
                  [=](int64_t c) { return in[c] * g[c]; });
    });
    for (int64_t j = 0; d_weight != nullptr && j < channels * taps; ++j) {
      d_weight[j] += d_weights[j % taps * channels + j / taps];
    }
  });
  return y;
}

template <typename T>
Var<T> Silu(Var<T> x) {
  return x * Sigmoid(x);
}

template <typename T>
ShortConvolution<T>::ShortConvolution(const MixerSetup<T>& setup,
                                      const std::string& name, int64_t channels,
                                      const ConvolutionConfig& options)
    : before_(options.width() - 1), slot_(setup.slots.Add(name)) {
  // The bound is the default of PyTorch's Conv1d with one group per channel.
  const double bound = 1 / std::sqrt(static_cast<double>(options.width()));
  const ParameterScope<T> scope = setup.scope.Sub(name);
  weight_ = scope.Add("weight", {channels, options.width()}, Uniform(bound));
  if (options.bias()) bias_ = scope.Add("bias", {channels}, Uniform(bound));
}

template <typename T>
Var<T> ShortConvolution<T>::operator()(Forward<T>& forward, Var<T> x,
                                       LayerState<T>* state) const {
  Var<T> y;
  if (state == nullptr || before_ == 0) {
    y = CausalConvolution(x, forward[weight_]);
  } else {
    Var<T> before = state->RowValue(slot_);
    if (!before.has_value()) {
      before = forward.tape().Full(x.shape().With(1, before_), T(0));
    }
    const int64_t time = x.dim(1);
    x = Concat<T>({before, x}, 1);
    state->SetRowValue(slot_, Slice(x, 1, time, before_));
    y = Slice(CausalConvolution(x, forward[weight_]), 1, before_, time);
  }
  return Silu(bias_.has_value() ? y + forward[bias_] : y);
}

template <typename T>
ConvolvedLinear<T>::ConvolvedLinear(const MixerSetup<T>& setup,
                                    const std::string& name, int64_t outputs,
                                    const LinearOptions& linear,
                                    const ConvolutionConfig& convolution)
    : linear_(setup.scope.Sub(name), setup.width, outputs, linear) {
  if (convolution.width() > 0) {
    convolution_.emplace(setup, name + "_convolution", outputs, convolution);
  }
}

template <typename T>
Var<T> ConvolvedLinear<T>::operator()(Forward<T>& forward, Var<T> x,
                                      LayerState<T>* state) const {
  const Var<T> y = linear_(forward, x);
  return convolution_.has_value() ? (*convolution_)(forward, y, state) : y;
}

REGARD_INSTANTIATE_FUNCTION(CausalConvolution);
REGARD_INSTANTIATE_FUNCTION(Silu);
REGARD_INSTANTIATE_CLASS(ShortConvolution);
REGARD_INSTANTIATE_CLASS(ConvolvedLinear);

}  // namespace regard
