#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/integer_power.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// Records the gradient of y, whose values are already computed. grad(g, x, y)
// is the gradient of x. The closure stores only nodes, so that the record is
// small.
template <typename T, typename G>
void RecordUnary(const char* name, Var<T> x, Var<T> y, G grad) {
  y.tape().Record(name, y, [x = x.node(), grad](Node<T>* y) {
    const T* g = y->grad;
    const T* x_data = x->value;
    const T* y_data = y->value;
    // x needs a gradient, because this record exists.
    GradRef<T>(x).AddEach(
        [=](int64_t i) { return grad(g[i], x_data[i], y_data[i]); });
  });
}

// The number of elements in a chunk. Several loops process one chunk before the
// next, so that its data stays in the first-level cache.
constexpr int64_t kChunk = 1024;

template <typename F>
void ForEachChunk(int64_t size, F f) {
  for (int64_t first = 0; first < size; first += kChunk) {
    f(first, std::min(kChunk, size - first));
  }
}

// Records a gradient that needs more than x and y. In the backward pass,
// slope(first, count, slopes) sets the derivatives of y with respect to x for
// `count` elements.
template <typename T, typename F>
void RecordSlope(const char* name, Var<T> x, Var<T> y, F slope) {
  y.tape().Record(name, y, [=] {
    auto d = x.grad_ref();
    const bool accumulate = d.BeginContribution();
    ForEachChunk(x.size(), [&](int64_t first, int64_t count) {
      T slopes[kChunk];
      slope(first, count, slopes);
      const T* g = y.grad_data() + first;
      AddOrAssign(accumulate, count, d.data() + first, [&](int64_t i) {
        return ZeroSafeProduct(g[i], g[i] * slopes[i]);
      });
    });
  });
}

template <typename T, typename F, typename G>
Var<T> Unary(const char* name, Var<T> x, F value, G grad) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  const T* x_data = x.data();
  T* __restrict y_data = y.data();
  const int64_t size = x.size();
  for (int64_t i = 0; i < size; ++i) y_data[i] = value(x_data[i]);
  RecordUnary(name, x, y, grad);
  return y;
}

template <typename T, typename G>
Var<T> UnaryKernel(const char* name, Var<T> x,
                   void (*kernel)(const T*, T*, int64_t), G grad) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  kernel(x.data(), y.data(), x.size());
  RecordUnary(name, x, y, grad);
  return y;
}

template <typename T>
void Power(const T* x, T* y, int64_t n, T exponent) {
  const bool is_whole = exponent == std::trunc(exponent);
  if (is_whole && std::abs(exponent) <= T(64)) {
    const int64_t whole = static_cast<int64_t>(exponent);
    for (int64_t i = 0; i < n; ++i) y[i] = IntegerPower(x[i], whole);
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = is_whole ? std::abs(x[i]) : x[i];
  Log(y, y, n);
  for (int64_t i = 0; i < n; ++i) y[i] *= exponent;
  Exp(y, y, n);
  if (std::abs(std::fmod(exponent, T(2))) != T(1)) return;
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? -y[i] : y[i];
}

}  // namespace

template <typename T>
Var<T> operator+(Var<T> x, std::type_identity_t<T> number) {
  return Unary(
      "Add", x, [=](T x) { return x + number; },
      [](T g, T /*x*/, T /*y*/) { return g; });
}

template <typename T>
Var<T> operator-(Var<T> x, std::type_identity_t<T> number) {
  return x + -number;
}

template <typename T>
Var<T> operator*(Var<T> x, std::type_identity_t<T> number) {
  return Unary(
      "Multiply", x, [=](T x) { return x * number; },
      [=](T g, T /*x*/, T /*y*/) { return ZeroSafeProduct(g, g * number); });
}

template <typename T>
Var<T> operator/(Var<T> x, std::type_identity_t<T> number) {
  return Unary(
      "Divide", x, [=](T x) { return x / number; },
      [=](T g, T /*x*/, T /*y*/) { return ZeroSafeProduct(g, g / number); });
}

template <typename T>
Var<T> operator+(std::type_identity_t<T> number, Var<T> x) {
  return x + number;
}

template <typename T>
Var<T> operator-(std::type_identity_t<T> number, Var<T> x) {
  return Unary(
      "Subtract", x, [=](T x) { return number - x; },
      [](T g, T /*x*/, T /*y*/) { return -g; });
}

template <typename T>
Var<T> operator*(std::type_identity_t<T> number, Var<T> x) {
  return x * number;
}

template <typename T>
Var<T> operator/(std::type_identity_t<T> number, Var<T> x) {
  return Unary(
      "Divide", x, [=](T x) { return number / x; },
      [](T g, T x, T y) { return ZeroSafeProduct(g, -g * y / x); });
}

template <typename T>
Var<T> operator-(Var<T> x) {
  return Unary(
      "Negate", x, [](T x) { return -x; },
      [](T g, T /*x*/, T /*y*/) { return -g; });
}

template <typename T>
Var<T> Exp(Var<T> x) {
  return UnaryKernel<T>("Exp", x, Exp<T>, [](T g, T /*x*/, T y) {
    return ZeroSafeProduct(g, g * y);
  });
}

template <typename T>
Var<T> Log(Var<T> x) {
  return UnaryKernel<T>("Log", x, Log<T>, [](T g, T x, T /*y*/) {
    return ZeroSafeProduct(g, g / x);
  });
}

template <typename T>
Var<T> Sqrt(Var<T> x) {
  return Unary(
      "Sqrt", x, [](T x) { return std::sqrt(x); },
      [](T g, T /*x*/, T y) { return ZeroSafeProduct(g, T(0.5) * g / y); });
}

template <typename T>
Var<T> Square(Var<T> x) {
  return Unary(
      "Square", x, [](T x) { return x * x; },
      [](T g, T x, T /*y*/) { return ZeroSafeProduct(g, T(2) * g * x); });
}

template <typename T>
Var<T> Abs(Var<T> x) {
  return Unary(
      "Abs", x, [](T x) { return std::abs(x); },
      [](T g, T x, T /*y*/) { return x > 0   ? g
                                     : x < 0 ? -g
                                             : T(0); });
}

template <typename T>
Var<T> Pow(Var<T> x, std::type_identity_t<T> exponent) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  Power(x.data(), y.data(), x.size(), exponent);
  RecordSlope("Pow", x, y, [=](int64_t first, int64_t count, T* slopes) {
    // For exponent 0, the slope is 0 everywhere. x^-1 is not computed, because
    // it might be infinite.
    Power(x.data() + first, slopes, count, exponent == 0 ? T(0) : exponent - 1);
    for (int64_t i = 0; i < count; ++i) slopes[i] *= exponent;
  });
  return y;
}

template <typename T>
Var<T> Sin(Var<T> x) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  Sin(x.data(), y.data(), x.size());
  RecordSlope("Sin", x, y, [=](int64_t first, int64_t count, T* slopes) {
    Cos(x.data() + first, slopes, count);
  });
  return y;
}

template <typename T>
Var<T> Cos(Var<T> x) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  Cos(x.data(), y.data(), x.size());
  RecordSlope("Cos", x, y, [=](int64_t first, int64_t count, T* slopes) {
    Sin(x.data() + first, slopes, count);
    for (int64_t i = 0; i < count; ++i) slopes[i] = -slopes[i];
  });
  return y;
}

template <typename T>
Var<T> Tanh(Var<T> x) {
  return UnaryKernel<T>("Tanh", x, Tanh<T>,
                        [](T g, T /*x*/, T y) { return g * (T(1) - y * y); });
}

template <typename T>
Var<T> Sigmoid(Var<T> x) {
  return UnaryKernel<T>("Sigmoid", x, Sigmoid<T>,
                        [](T g, T /*x*/, T y) { return g * y * (T(1) - y); });
}

// NaN stays NaN: a fault must not look like an inactive unit.
template <typename T>
Var<T> Relu(Var<T> x) {
  return Unary(
      "Relu", x, [](T x) { return x <= 0 ? T(0) : x; },
      [](T g, T x, T /*y*/) { return x > 0 ? g : T(0); });
}

template <typename T>
Var<T> Gelu(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  // The value of the normal distribution function for each x, kept for the
  // gradient.
  T* const all_below = tape.arena().template New<T>(x.size());
  ForEachChunk(x.size(), [=](int64_t first, int64_t count) {
    const T* x_data = x.data() + first;
    T* below = all_below + first;
    T* y_data = y.data() + first;
    for (int64_t i = 0; i < count; ++i) below[i] = x_data[i] * T(M_SQRT1_2);
    Erf(below, below, count);
    for (int64_t i = 0; i < count; ++i) {
      below[i] = T(0.5) * (T(1) + below[i]);
      y_data[i] = x_data[i] * below[i];
    }
  });
  RecordSlope("Gelu", x, y, [=](int64_t first, int64_t count, T* slopes) {
    constexpr T kInverseSqrtTwoPi = T(0.5 * M_2_SQRTPI * M_SQRT1_2);
    const T* x_data = x.data() + first;
    const T* below = all_below + first;
    for (int64_t i = 0; i < count; ++i) {
      slopes[i] = T(-0.5) * x_data[i] * x_data[i];
    }
    Exp(slopes, slopes, count);
    for (int64_t i = 0; i < count; ++i) {
      slopes[i] = below[i] + x_data[i] * kInverseSqrtTwoPi * slopes[i];
    }
  });
  return y;
}

template <typename T>
Var<T> GeluTanh(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  constexpr T kScale = T(M_2_SQRTPI * M_SQRT1_2);  // sqrt(2 / pi)
  constexpr T kCubic = T(0.044715);
  // The hyperbolic tangent for each element, kept for the gradient.
  T* const all_tanh = tape.arena().template New<T>(x.size());
  ForEachChunk(x.size(), [=](int64_t first, int64_t count) {
    const T* x_data = x.data() + first;
    T* tanh = all_tanh + first;
    T* y_data = y.data() + first;
    for (int64_t i = 0; i < count; ++i) {
      const T x = x_data[i];
      tanh[i] = kScale * (x + kCubic * x * x * x);
    }
    Tanh(tanh, tanh, count);
    for (int64_t i = 0; i < count; ++i) {
      y_data[i] = T(0.5) * x_data[i] * (T(1) + tanh[i]);
    }
  });
  RecordSlope("GeluTanh", x, y, [=](int64_t first, int64_t count, T* slopes) {
    const T* x_data = x.data() + first;
    const T* tanh = all_tanh + first;
    for (int64_t i = 0; i < count; ++i) {
      const T x = x_data[i];
      const T slope = kScale * (T(1) + T(3) * kCubic * x * x);
      slopes[i] =
          T(0.5) * (T(1) + tanh[i] + x * (T(1) - tanh[i] * tanh[i]) * slope);
    }
  });
  return y;
}

template <typename T>
Var<T> Softplus(Var<T> x) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  // softplus(x) = max(x, 0) + log(1 + e), where e = exp(-|x|) <= 1. The
  // rounding error of 1 + e is divided out (Kahan).
  ForEachChunk(x.size(), [=](int64_t first, int64_t count) {
    const T* x_data = x.data() + first;
    T* y_data = y.data() + first;
    T e[kChunk];
    for (int64_t i = 0; i < count; ++i) e[i] = -std::abs(x_data[i]);
    Exp(e, e, count);
    for (int64_t i = 0; i < count; ++i) y_data[i] = T(1) + e[i];
    Log(y_data, y_data, count);
    for (int64_t i = 0; i < count; ++i) {
      const T rounded = (T(1) + e[i]) - T(1);
      const T log = rounded == 0 ? e[i] : y_data[i] * (e[i] / rounded);
      y_data[i] = (x_data[i] > 0 ? x_data[i] : T(0)) + log;
    }
  });
  RecordSlope("Softplus", x, y, [=](int64_t first, int64_t count, T* slopes) {
    Sigmoid(x.data() + first, slopes, count);
  });
  return y;
}

#define REGARD_INSTANTIATE(T)           \
  template Var<T> operator+(Var<T>, T); \
  template Var<T> operator-(Var<T>, T); \
  template Var<T> operator*(Var<T>, T); \
  template Var<T> operator/(Var<T>, T); \
  template Var<T> operator+(T, Var<T>); \
  template Var<T> operator-(T, Var<T>); \
  template Var<T> operator*(T, Var<T>); \
  template Var<T> operator/(T, Var<T>); \
  template Var<T> operator-(Var<T>);    \
  template Var<T> Exp(Var<T>);          \
  template Var<T> Log(Var<T>);          \
  template Var<T> Sqrt(Var<T>);         \
  template Var<T> Square(Var<T>);       \
  template Var<T> Abs(Var<T>);          \
  template Var<T> Pow(Var<T>, T);       \
  template Var<T> Sin(Var<T>);          \
  template Var<T> Cos(Var<T>);          \
  template Var<T> Tanh(Var<T>);         \
  template Var<T> Sigmoid(Var<T>);      \
  template Var<T> Relu(Var<T>);         \
  template Var<T> Gelu(Var<T>);         \
  template Var<T> GeluTanh(Var<T>);     \
  template Var<T> Softplus(Var<T>);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
