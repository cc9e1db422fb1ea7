#include "autodiff/testing/rounding_tape.h"

#include <bit>
#include <cstring>

#include "autodiff/random.h"

namespace regard {

ProductPrecision RoundOutsideFullRule::At(const ScopeName* scope) const {
  const bool full = scope != nullptr && std::strcmp(scope->name, "full") == 0;
  return full ? ProductPrecision::kFull : ProductPrecision::kBfloat16;
}

ProductRoundingTape::ProductRoundingTape() {
  static const RoundOutsideFullRule rule;
  set_precision_rule(&rule);
}

std::vector<float> NormalFloats(int64_t n, uint64_t seed) {
  const RandomStream stream(seed, "rounding_tape");
  std::vector<float> out(n);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(stream.NormalAt(i));
  }
  return out;
}

Var<float> NormalLeaf(Tape<float>& tape, const Shape& shape, uint64_t seed) {
  return tape.Input(shape, NormalFloats(shape.size(), seed));
}

std::vector<float> BackwardFrom(Var<float> y, uint64_t seed) {
  const std::vector<float> g = NormalFloats(y.size(), seed);
  if (auto d = y.grad_ref()) d.AddEach([&](int64_t i) { return g[i]; });
  y.tape().BackwardTo({});
  return g;
}

std::vector<uint32_t> Bits(absl::Span<const float> x) {
  std::vector<uint32_t> bits;
  for (const float value : x) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

std::vector<uint32_t> GradientBits(Var<float> x) {
  if (x.grad_data() == nullptr) return {};
  return Bits(absl::MakeConstSpan(x.grad_data(), x.size()));
}

}  // namespace regard
