#include "attention/normalizer.h"

namespace regard {

NormalizerRegistry::NormalizerRegistry()
    : OptionRegistry(
          NormalizerConfig::descriptor()->FindOneofByName("normalizer"),
          "softmax {}", &SoftmaxNormalizer::default_instance()) {}

template <>
std::unique_ptr<Normalizer<float>> NormalizerRegistry::Create(
    const NormalizerConfig& config) const {
  return CreateBy(&NormalizerInfo::create_float, config);
}

template <>
std::unique_ptr<Normalizer<double>> NormalizerRegistry::Create(
    const NormalizerConfig& config) const {
  return CreateBy(&NormalizerInfo::create_double, config);
}

}  // namespace regard
