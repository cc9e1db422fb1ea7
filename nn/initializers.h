// Initializers, which compute the initial values of parameters.
//
// An initializer returns element `index` (row-major) of a parameter, as a
// function of the parameter's own random stream. The initial values of one
// parameter therefore do not depend on other parameters. Values are drawn in
// double precision and rounded once.
#ifndef NN_INITIALIZERS_H_
#define NN_INITIALIZERS_H_

#include <cstdint>
#include <functional>

#include "autodiff/random.h"

namespace regard {

using Initializer =
    std::function<double(const RandomStream& stream, int64_t index)>;

// Returns the initializer of a weight [fan_out, fan_in]. Examples are
// XavierUniform and a lambda that returns Normal(0.02) for all sizes.
using WeightInitializer =
    std::function<Initializer(int64_t fan_out, int64_t fan_in)>;

Initializer Constant(double value);
Initializer Zeros();

// Uniform distribution between -bound and bound.
Initializer Uniform(double bound);

// Normal distribution with mean 0.
Initializer Normal(double standard_deviation);

// Normal(), redrawn until the value is within two standard deviations of 0.
Initializer TruncatedNormal(double standard_deviation);

// Uniform() with the bound sqrt(6 / (fan_out + fan_in)) (Glorot and Bengio,
// 2010). Stacked matrices, such as the gates of a GRU [3 * width, input], count
// as one matrix with a fan_out of 3 * width.
Initializer XavierUniform(int64_t fan_out, int64_t fan_in);

// PyTorch's default for weight and bias of a linear layer:
// Uniform(1 / sqrt(inputs)).
Initializer LinearDefault(int64_t inputs);

// PyTorch's default for all parameters of a GRU or LSTM:
// Uniform(1 / sqrt(width)).
Initializer RecurrentDefault(int64_t width);

// PyTorch's default for an embedding: Normal(1).
Initializer EmbeddingDefault();

}  // namespace regard

#endif  // NN_INITIALIZERS_H_
