// The tests that the macro scoring_function() generates for every scoring
// function.
#ifndef ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_
#define ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_

#include <memory>
#include <string>
#include <tuple>

#include "attention/attention_registry.h"
#include "attention/checks/score_checks.h"
#include "attention/scoring_function.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace regard {

struct ScoringFunctionCase {
  void (*register_score)(AttentionRegistry& scorers);
  const char* options;  // a text proto
};

// The generated test runs all ScoreChecks() for each set of options.
class ScoringFunctionTest : public ::testing::TestWithParam<
                                std::tuple<ScoringFunctionCase, ScoreCheck>> {
 public:
  // Returns the name of a test, such as "PaddingChangesNothing_width_5".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_
