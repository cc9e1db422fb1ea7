// The tests that the macro head_output() generates for every head output.
#ifndef ATTENTION_TESTING_HEAD_OUTPUT_TEST_BODY_H_
#define ATTENTION_TESTING_HEAD_OUTPUT_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/head_output_checks.h"
#include "attention/head_output.h"
#include "gtest/gtest.h"

namespace regard {

struct HeadOutputCase {
  void (*register_output)(HeadOutputRegistry& head_outputs);
  const char* options;    // a text proto
  bool is_plain = false;  // as in HeadOutputToCheck
};

// The generated test runs all HeadOutputChecks() for each set of options.
class HeadOutputTest : public ::testing::TestWithParam<
                           std::tuple<HeadOutputCase, HeadOutputCheck>> {
 public:
  // Returns the name of a test, such as "ComputesEachQueryByItself_bias_1".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_HEAD_OUTPUT_TEST_BODY_H_
