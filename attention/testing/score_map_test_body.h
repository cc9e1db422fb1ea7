// The tests that the macro score_map() generates for every score map.
#ifndef ATTENTION_TESTING_SCORE_MAP_TEST_BODY_H_
#define ATTENTION_TESTING_SCORE_MAP_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/score_map_checks.h"
#include "attention/score_map.h"
#include "gtest/gtest.h"

namespace regard {

struct ScoreMapCase {
  void (*register_map)(ScoreMapRegistry& maps);
  const char* options;    // a text proto
  bool is_plain = false;  // as in ScoreMapToCheck
};

// The generated test runs all ScoreMapChecks() for each set of options.
class ScoreMapTest
    : public ::testing::TestWithParam<std::tuple<ScoreMapCase, ScoreMapCheck>> {
 public:
  // Returns the name of a test, such as "KeepsWhatIsHidden_cap_0_5".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_SCORE_MAP_TEST_BODY_H_
