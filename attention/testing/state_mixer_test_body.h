// The tests that the macro state_mixer() generates for every state mixer.
#ifndef ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_
#define ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/mixer_checks.h"
#include "attention/state_mixer.h"
#include "gtest/gtest.h"

namespace regard {

struct StateMixerCase {
  void (*register_mixer)(MixerRegistry& mixers);
  const char* options;  // a text proto
};

// The generated test runs all MixerChecks() for each set of options.
class StateMixerTest
    : public ::testing::TestWithParam<std::tuple<StateMixerCase, MixerCheck>> {
 public:
  // Returns the name of a test, such as "PaddingChangesNothing_heads_2".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_
