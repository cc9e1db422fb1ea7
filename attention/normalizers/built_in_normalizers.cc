#include "attention/normalizers/built_in_normalizers.h"

namespace regard {

void RegisterEntmax15(NormalizerRegistry& normalizers);
void RegisterSigmoid(NormalizerRegistry& normalizers);
void RegisterSoftmax(NormalizerRegistry& normalizers);
void RegisterSparsemax(NormalizerRegistry& normalizers);

void RegisterBuiltInNormalizers(NormalizerRegistry& normalizers) {
  RegisterEntmax15(normalizers);
  RegisterSigmoid(normalizers);
  RegisterSoftmax(normalizers);
  RegisterSparsemax(normalizers);
}

}  // namespace regard
