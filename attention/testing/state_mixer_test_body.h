// The tests that every state mixer gets by the macro state_mixer().
#ifndef ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_
#define ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/mixer_checks.h"
#include "attention/state_mixer.h"
#include "gtest/gtest.h"

namespace regard {

// A mixer and the options that it is tested with.
struct StateMixerCase {
  void (*register_mixer)(MixerRegistry& mixers);
  const char* options;  // a text proto
};

// Instantiated by the generated test with a case for each of its options, and
// all MixerChecks().
class StateMixerTest
    : public ::testing::TestWithParam<std::tuple<StateMixerCase, MixerCheck>> {
 public:
  // For the name of a test: "PaddingChangesNothing_heads_2".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_STATE_MIXER_TEST_BODY_H_
