// The tests that the macro key_selection() generates for every key selection.
#ifndef ATTENTION_TESTING_KEY_SELECTION_TEST_BODY_H_
#define ATTENTION_TESTING_KEY_SELECTION_TEST_BODY_H_

#include <string>
#include <tuple>

#include "attention/checks/key_selection_checks.h"
#include "attention/key_selection.h"
#include "gtest/gtest.h"

namespace regard {

struct KeySelectionCase {
  void (*register_selection)(KeySelectionRegistry& registry);
  const char* options;    // a text proto
  bool is_plain = false;  // as in KeySelectionToCheck
};

// The generated test runs all KeySelectionChecks() for each set of options.
class KeySelectionTest : public ::testing::TestWithParam<
                             std::tuple<KeySelectionCase, KeySelectionCheck>> {
 public:
  // Returns the name of a test, such as "AllPathsAgree_top_k_2".
  static std::string Name(const ::testing::TestParamInfo<ParamType>& info);
};

}  // namespace regard

#endif  // ATTENTION_TESTING_KEY_SELECTION_TEST_BODY_H_
