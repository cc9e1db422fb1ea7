#include "attention/normalizer.h"

#include "attention/normalizers/normalizer.pb.h"

namespace regard {

NormalizerRegistry::NormalizerRegistry()
    : PluginRegistry("normalizer", "softmax {}",
                     &SoftmaxNormalizer::default_instance()) {}

}  // namespace regard
