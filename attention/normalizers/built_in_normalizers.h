// The normalizers that every program knows.
#ifndef ATTENTION_NORMALIZERS_BUILT_IN_NORMALIZERS_H_
#define ATTENTION_NORMALIZERS_BUILT_IN_NORMALIZERS_H_

#include "attention/normalizer.h"

namespace regard {

void RegisterBuiltInNormalizers(NormalizerRegistry& normalizers);

}  // namespace regard

#endif  // ATTENTION_NORMALIZERS_BUILT_IN_NORMALIZERS_H_
