#include "autodiff/ops/swiglu.h"

#include <cstdint>

#include "autodiff/kernels/transcendental.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> SwiGlu(Var<T> gate, Var<T> x) {
  REGARD_CHECK(gate.shape() == x.shape())
      << "SwiGlu of " << gate.shape() << " and " << x.shape();
  Tape<T>& tape = TapeOf("SwiGlu", x, gate);
  Var<T> y = tape.NewLike(x, gate.needs_grad() || x.needs_grad());
  const int64_t size = x.size();
  // sigmoid(gate), kept for the gradient.
  T* const sigmoid = tape.arena().template New<T>(size);
  Sigmoid(gate.data(), sigmoid, size);
  const T* gate_data = gate.data();
  const T* x_data = x.data();
  T* __restrict y_data = y.data();
  for (int64_t i = 0; i < size; ++i) {
    y_data[i] = gate_data[i] * sigmoid[i] * x_data[i];
  }
  tape.Record("SwiGlu", y, [=] {
    const T* g = y.grad_data();
    const T* gate_data = gate.data();
    const T* x_data = x.data();
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t i) { return g[i] * (gate_data[i] * sigmoid[i]); });
    }
    if (auto d = gate.grad_ref()) {
      d.AddEach([=](int64_t i) {
        const T s = sigmoid[i];
        return g[i] * x_data[i] * (s + gate_data[i] * s * (T(1) - s));
      });
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(SwiGlu);

}  // namespace regard
