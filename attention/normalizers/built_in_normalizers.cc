#include "attention/normalizers/built_in_normalizers.h"

namespace regard {

void RegisterEntmax15(NormalizerRegistry& normalizers);
void RegisterSigmoidWeights(NormalizerRegistry& normalizers);
void RegisterSoftmaxWeights(NormalizerRegistry& normalizers);
void RegisterSparsemax(NormalizerRegistry& normalizers);

void RegisterBuiltInNormalizers(NormalizerRegistry& normalizers) {
  RegisterEntmax15(normalizers);
  RegisterSigmoidWeights(normalizers);
  RegisterSoftmaxWeights(normalizers);
  RegisterSparsemax(normalizers);
}

}  // namespace regard
