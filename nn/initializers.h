// Initial values of parameters.
//
// An initializer gives element `index` (row-major) of a parameter as a function
// of the parameter's own random stream. So the initial values of one parameter
// do not depend on the others. Values are drawn in double and rounded once.
#ifndef NN_INITIALIZERS_H_
#define NN_INITIALIZERS_H_

#include <cstdint>
#include <functional>

#include "autodiff/random.h"

namespace regard {

using Initializer =
    std::function<double(const RandomStream& stream, int64_t index)>;

// Makes the initializer of a weight [fan_out, fan_in], such as XavierUniform. A
// lambda that returns Normal(0.02) serves for weights of all widths.
using WeightInitializer =
    std::function<Initializer(int64_t fan_out, int64_t fan_in)>;

Initializer Constant(double value);
Initializer Zeros();

// U(-bound, bound).
Initializer Uniform(double bound);

// N(0, standard_deviation^2).
Initializer Normal(double standard_deviation);

// The same, drawn again until it is within two standard deviations.
Initializer TruncatedNormal(double standard_deviation);

// Glorot & Bengio 2010: bound sqrt(6 / (fan_out + fan_in)). Stacked matrices,
// such as the gates of a GRU [3 width, input], count as one: fan_out 3 width.
Initializer XavierUniform(int64_t fan_out, int64_t fan_in);

// PyTorch's default for weight and bias of a Linear: U(+-1 / sqrt(inputs)).
Initializer LinearDefault(int64_t inputs);

// PyTorch's default for all parameters of a GRU or LSTM: U(+-1 / sqrt(width)).
Initializer RecurrentDefault(int64_t width);

// PyTorch's default for an Embedding: N(0, 1).
Initializer EmbeddingDefault();

}  // namespace regard

#endif  // NN_INITIALIZERS_H_
