// Checks that every normalizer must pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_NORMALIZER_CHECKS_H_
#define ATTENTION_CHECKS_NORMALIZER_CHECKS_H_

#include <vector>

#include "attention/checks/expectations.h"
#include "attention/normalizer.h"
#include "google/protobuf/message.h"

namespace regard {

struct NormalizerToCheck {
  const NormalizerRegistry& registry;
  const NormalizerInfo& info;  // registered in `registry`
  // Registers the normalizer in `normalizers`, which a check has created.
  void (*register_normalizer)(NormalizerRegistry& normalizers);
  const google::protobuf::Message& options;
  // Whether a normalizer with these options is bit-identical to softmax on up
  // to 200 scores.
  bool is_plain;
};

struct NormalizerCheck {
  const char* name;  // "IsTheSameInAnyOrder"
  void (*run)(const NormalizerToCheck& normalizer, Expectations& expect);
};

// All checks. They use normalizers with two heads.
std::vector<NormalizerCheck> NormalizerChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_NORMALIZER_CHECKS_H_
