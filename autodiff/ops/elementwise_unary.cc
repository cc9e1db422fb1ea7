#include <cmath>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/integer_power.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// y for x, given that y's values stand; grad(g, x, y) is the gradient of x.
// The closure keeps nodes, which are all that it needs: so the record is small.
template <typename T, typename G>
void RecordUnary(const char* name, Var<T> x, Var<T> y, G grad) {
  y.tape().Record(name, y, [x = x.node(), grad](Node<T>* y) {
    const T* g = y->grad;
    const T* x_data = x->value;
    const T* y_data = y->value;
    // x is the only operand: without its gradient there is no record.
    GradRef<T>(x).AddEach(
        [=](int64_t i) { return grad(g[i], x_data[i], y_data[i]); });
  });
}

// The same where more than x and y is needed: begin(scratch) runs in the
// backward pass and returns gradient(g, i), the gradient of element i of x from
// that of y. Derivatives are not stored, which would be another pass.
template <typename T, typename F>
void RecordIndexed(const char* name, Var<T> x, Var<T> y, F begin) {
  y.tape().Record(name, y, [=] {
    ScratchScope<T> scratch(x.tape());
    const auto gradient = begin(scratch);
    const T* g = y.grad_data();
    x.grad_ref().AddEach([=](int64_t i) { return gradient(g[i], i); });
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
      [=](T g, T /*x*/, T /*y*/) { return KeepZero(g, g * number); });
}

template <typename T>
Var<T> operator/(Var<T> x, std::type_identity_t<T> number) {
  return Unary(
      "Divide", x, [=](T x) { return x / number; },
      [=](T g, T /*x*/, T /*y*/) { return KeepZero(g, g / number); });
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
      [](T g, T x, T y) { return KeepZero(g, -g * y / x); });
}

template <typename T>
Var<T> operator-(Var<T> x) {
  return Unary(
      "Negate", x, [](T x) { return -x; },
      [](T g, T /*x*/, T /*y*/) { return -g; });
}

template <typename T>
Var<T> Exp(Var<T> x) {
  return UnaryKernel<T>("Exp", x, Exp<T>,
                        [](T g, T /*x*/, T y) { return KeepZero(g, g * y); });
}

template <typename T>
Var<T> Log(Var<T> x) {
  return UnaryKernel<T>("Log", x, Log<T>,
                        [](T g, T x, T /*y*/) { return KeepZero(g, g / x); });
}

template <typename T>
Var<T> Sqrt(Var<T> x) {
  return Unary(
      "Sqrt", x, [](T x) { return std::sqrt(x); },
      [](T g, T /*x*/, T y) { return KeepZero(g, T(0.5) * g / y); });
}

template <typename T>
Var<T> Square(Var<T> x) {
  return Unary(
      "Square", x, [](T x) { return x * x; },
      [](T g, T x, T /*y*/) { return KeepZero(g, T(2) * g * x); });
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
  RecordIndexed("Pow", x, y, [=](ScratchScope<T>& scratch) {
    T* const slope = scratch.New(x.size());
    // 0 everywhere for exponent 0, where x^-1 may be infinite.
    Power(x.data(), slope, x.size(), exponent == 0 ? T(0) : exponent - 1);
    return
        [=](T g, int64_t i) { return KeepZero(g, g * (exponent * slope[i])); };
  });
  return y;
}

template <typename T>
Var<T> Sin(Var<T> x) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  Sin(x.data(), y.data(), x.size());
  RecordIndexed("Sin", x, y, [=](ScratchScope<T>& scratch) {
    T* const slope = scratch.New(x.size());
    Cos(x.data(), slope, x.size());
    return [=](T g, int64_t i) { return KeepZero(g, g * slope[i]); };
  });
  return y;
}

template <typename T>
Var<T> Cos(Var<T> x) {
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  Cos(x.data(), y.data(), x.size());
  RecordIndexed("Cos", x, y, [=](ScratchScope<T>& scratch) {
    T* const slope = scratch.New(x.size());
    Sin(x.data(), slope, x.size());
    return [=](T g, int64_t i) { return KeepZero(g, -g * slope[i]); };
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

template <typename T>
Var<T> Relu(Var<T> x) {
  return Unary(
      "Relu", x, [](T x) { return x > 0 ? x : T(0); },
      [](T g, T x, T /*y*/) { return x > 0 ? g : T(0); });
}

template <typename T>
Var<T> Gelu(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  const int64_t size = x.size();
  const T* x_data = x.data();
  T* y_data = y.data();
  // The distribution function of each x, kept for the gradient.
  T* const below = tape.arena().template New<T>(size);
  for (int64_t i = 0; i < size; ++i) below[i] = x_data[i] * T(M_SQRT1_2);
  Erf(below, below, size);
  for (int64_t i = 0; i < size; ++i) {
    below[i] = T(0.5) * (T(1) + below[i]);
    y_data[i] = x_data[i] * below[i];
  }
  RecordIndexed("Gelu", x, y, [=](ScratchScope<T>& scratch) {
    const T* x_data = x.data();
    T* const density = scratch.New(size);
    for (int64_t i = 0; i < size; ++i) {
      density[i] = T(-0.5) * x_data[i] * x_data[i];
    }
    Exp(density, density, size);
    constexpr T kInverseSqrtTwoPi = T(0.5 * M_2_SQRTPI * M_SQRT1_2);
    return [=](T g, int64_t i) {
      return KeepZero(
          g, g * (below[i] + x_data[i] * kInverseSqrtTwoPi * density[i]));
    };
  });
  return y;
}

template <typename T>
Var<T> GeluTanh(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  const int64_t size = x.size();
  const T* x_data = x.data();
  T* y_data = y.data();
  constexpr T kScale = T(M_2_SQRTPI * M_SQRT1_2);  // sqrt(2 / pi)
  constexpr T kCubic = T(0.044715);
  // The hyperbolic tangent, kept for the gradient.
  T* const tanh = tape.arena().template New<T>(size);
  for (int64_t i = 0; i < size; ++i) {
    const T x = x_data[i];
    tanh[i] = kScale * (x + kCubic * x * x * x);
  }
  Tanh(tanh, tanh, size);
  for (int64_t i = 0; i < size; ++i) {
    y_data[i] = T(0.5) * x_data[i] * (T(1) + tanh[i]);
  }
  RecordIndexed("GeluTanh", x, y, [=](ScratchScope<T>&) {
    return [=, x_data = x.data()](T g, int64_t i) {
      const T x = x_data[i];
      const T slope = kScale * (T(1) + T(3) * kCubic * x * x);
      return KeepZero(
          g, g * T(0.5) *
                 (T(1) + tanh[i] + x * (T(1) - tanh[i] * tanh[i]) * slope));
    };
  });
  return y;
}

template <typename T>
Var<T> Softplus(Var<T> x) {
  Tape<T>& tape = x.tape();
  Var<T> y = x.tape().NewLike(x, x.needs_grad());
  const int64_t size = x.size();
  const T* x_data = x.data();
  T* y_data = y.data();
  {
    // max(x, 0) + log(1 + e) where e = exp(-|x|) <= 1. The rounding of 1 + e
    // is divided out (Kahan).
    ScratchScope<T> scratch(tape);
    T* const e = scratch.New(size);
    for (int64_t i = 0; i < size; ++i) e[i] = -std::abs(x_data[i]);
    Exp(e, e, size);
    for (int64_t i = 0; i < size; ++i) y_data[i] = T(1) + e[i];
    Log(y_data, y_data, size);
    for (int64_t i = 0; i < size; ++i) {
      const T rounded = (T(1) + e[i]) - T(1);
      const T log = rounded == 0 ? e[i] : y_data[i] * (e[i] / rounded);
      y_data[i] = (x_data[i] > 0 ? x_data[i] : T(0)) + log;
    }
  }
  RecordIndexed("Softplus", x, y, [=](ScratchScope<T>& scratch) {
    T* const slope = scratch.New(size);
    Sigmoid(x.data(), slope, size);
    return [=](T g, int64_t i) { return g * slope[i]; };
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
