#include "attention/normalizer.h"

namespace regard {

NormalizerRegistry::NormalizerRegistry()
    : OptionRegistry(
          NormalizerConfig::descriptor()->FindOneofByName("normalizer"),
          "softmax {}", &SoftmaxNormalizer::default_instance()) {}

}  // namespace regard
