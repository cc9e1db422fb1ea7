// The tests that every scoring function gets by the macro scoring_function().
#ifndef ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_
#define ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_

#include <memory>
#include <string>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring_function.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"

namespace regard {

// A score and the options that it is tested with.
struct ScoringFunctionCase {
  void (*register_score)(AttentionRegistry& scorers);
  const char* options;  // a text proto

  // For the name of a test: "width_5".
  static std::string Name(
      const ::testing::TestParamInfo<ScoringFunctionCase>& info);
};

// Instantiated by the generated test with a case for each of its options.
class ScoringFunctionTest
    : public ::testing::TestWithParam<ScoringFunctionCase> {
 protected:
  void SetUp() override;

  const ScorerInfo& info() const { return registry_.plugins()[0]; }
  const google::protobuf::Message& options() const { return *options_; }
  // The score with fields of regard.Attention, as a text proto.
  Attention ConfigWith(const char* positions) const;

  AttentionRegistry registry_;
  ScoreWidths widths_;  // two heads; query and key differ where they may

 private:
  std::unique_ptr<google::protobuf::Message> options_;
};

}  // namespace regard

#endif  // ATTENTION_TESTING_SCORING_FUNCTION_TEST_BODY_H_
