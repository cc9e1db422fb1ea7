// Operations on each element. The inputs of binary operations broadcast as in
// NumPy: shapes are aligned at their last axes, and extents must be equal or 1.
#ifndef AUTODIFF_OPS_ELEMENTWISE_H_
#define AUTODIFF_OPS_ELEMENTWISE_H_

#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

template <typename T>
Var<T> Add(Var<T> a, Var<T> b);
template <typename T>
Var<T> Subtract(Var<T> a, Var<T> b);
template <typename T>
Var<T> Multiply(Var<T> a, Var<T> b);
template <typename T>
Var<T> Divide(Var<T> a, Var<T> b);

template <typename T>
Var<T> operator+(Var<T> a, Var<T> b) {
  return Add(a, b);
}
template <typename T>
Var<T> operator-(Var<T> a, Var<T> b) {
  return Subtract(a, b);
}
template <typename T>
Var<T> operator*(Var<T> a, Var<T> b) {
  return Multiply(a, b);
}
template <typename T>
Var<T> operator/(Var<T> a, Var<T> b) {
  return Divide(a, b);
}

// Operations with a number. The number has the type of the Var, so that `2 * x`
// compiles for float and for double.
template <typename T>
Var<T> operator+(Var<T> x, std::type_identity_t<T> number);
template <typename T>
Var<T> operator-(Var<T> x, std::type_identity_t<T> number);
template <typename T>
Var<T> operator*(Var<T> x, std::type_identity_t<T> number);
template <typename T>
Var<T> operator/(Var<T> x, std::type_identity_t<T> number);
template <typename T>
Var<T> operator+(std::type_identity_t<T> number, Var<T> x);
template <typename T>
Var<T> operator-(std::type_identity_t<T> number, Var<T> x);
template <typename T>
Var<T> operator*(std::type_identity_t<T> number, Var<T> x);
template <typename T>
Var<T> operator/(std::type_identity_t<T> number, Var<T> x);
template <typename T>
Var<T> operator-(Var<T> x);

// Returns x where `condition` is positive, and y elsewhere. The three operands
// broadcast. The gradient of an element goes to the operand that provided it.
// `condition` gets no gradient.
template <typename T>
Var<T> Where(Var<T> condition, Var<T> x, Var<T> y);

// The larger or smaller element of each pair, or NaN if either is NaN. The
// gradient goes to the operand that provided the element, and to `a` if both
// are equal.
template <typename T>
Var<T> Maximum(Var<T> a, Var<T> b);
template <typename T>
Var<T> Minimum(Var<T> a, Var<T> b);

// A gradient of 0 stays 0 in the functions below, even if the derivative is
// infinite, such as the derivative of Log() at 0.
template <typename T>
Var<T> Exp(Var<T> x);
// The natural logarithm.
template <typename T>
Var<T> Log(Var<T> x);
template <typename T>
Var<T> Sqrt(Var<T> x);
template <typename T>
Var<T> Square(Var<T> x);
// The gradient at 0 is 0.
template <typename T>
Var<T> Abs(Var<T> x);
// Returns x^exponent. Whole exponents from -64 to 64 are computed by
// multiplication. Other exponents are computed as exp(exponent * log |x|), and
// the result is negated if x is negative and the exponent is odd. The result is
// NaN for negative x unless the exponent is whole.
template <typename T>
Var<T> Pow(Var<T> x, std::type_identity_t<T> exponent);

// The sine and cosine of x in radians.
template <typename T>
Var<T> Sin(Var<T> x);
template <typename T>
Var<T> Cos(Var<T> x);

template <typename T>
Var<T> Tanh(Var<T> x);
template <typename T>
Var<T> Sigmoid(Var<T> x);
// The gradient at 0 is 0.
template <typename T>
Var<T> Relu(Var<T> x);
// x times the standard normal distribution function of x.
template <typename T>
Var<T> Gelu(Var<T> x);
// The approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <typename T>
Var<T> GeluTanh(Var<T> x);
// log(1 + exp(x)), to full relative precision at both ends.
template <typename T>
Var<T> Softplus(Var<T> x);

}  // namespace regard

#endif  // AUTODIFF_OPS_ELEMENTWISE_H_
