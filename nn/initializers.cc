#include "nn/initializers.h"

#include <cmath>

#include "third_party/abseil_backport/check.h"

namespace regard {

Initializer Constant(double value) {
  return [value](const RandomStream&, int64_t) { return value; };
}

Initializer Zeros() { return Constant(0); }

Initializer Uniform(double bound) {
  return [bound](const RandomStream& stream, int64_t index) {
    return bound * (2 * stream.UniformAt(static_cast<uint64_t>(index)) - 1);
  };
}

Initializer Normal(double standard_deviation) {
  return [standard_deviation](const RandomStream& stream, int64_t index) {
    return standard_deviation * stream.NormalAt(static_cast<uint64_t>(index));
  };
}

Initializer TruncatedNormal(double standard_deviation) {
  return [standard_deviation](const RandomStream& stream, int64_t index) {
    // The draws of one element are 2^40 apart. No parameter has 2^40 elements,
    // so two elements do not share draws.
    double draw = 0;
    uint64_t at = static_cast<uint64_t>(index);
    do {
      draw = stream.NormalAt(at);
      at += uint64_t{1} << 40;
    } while (std::abs(draw) > 2);
    return standard_deviation * draw;
  };
}

Initializer XavierUniform(int64_t fan_out, int64_t fan_in) {
  REGARD_CHECK_GT(fan_out + fan_in, 0);
  return Uniform(std::sqrt(6.0 / static_cast<double>(fan_out + fan_in)));
}

Initializer LinearDefault(int64_t inputs) {
  REGARD_CHECK_GT(inputs, 0);
  return Uniform(1 / std::sqrt(static_cast<double>(inputs)));
}

Initializer RecurrentDefault(int64_t width) { return LinearDefault(width); }

Initializer EmbeddingDefault() { return Normal(1); }

}  // namespace regard
