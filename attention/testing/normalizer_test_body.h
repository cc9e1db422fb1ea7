// The tests that the macro normalizer() generates for every normalizer.
#ifndef ATTENTION_TESTING_NORMALIZER_TEST_BODY_H_
#define ATTENTION_TESTING_NORMALIZER_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/normalizer_checks.h"
#include "attention/normalizer.h"
#include "gtest/gtest.h"

namespace regard {

struct NormalizerCase {
  void (*register_normalizer)(NormalizerRegistry& registry);
  const char* options;    // a text proto
  bool is_plain = false;  // as in NormalizerToCheck
};

// The generated test runs all NormalizerChecks() for each set of options.
class NormalizerTest : public ::testing::TestWithParam<
                           std::tuple<NormalizerCase, NormalizerCheck>> {
 public:
  // Returns the name of a test, such as "IsTheSameInAnyOrder_bias_1".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_NORMALIZER_TEST_BODY_H_
