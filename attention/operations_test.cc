#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(OperationsTest, EveryHeaderHasATestThatChecksItsGradients) {
  // These only compose operations.
  ExpectTestForEachHeader(
      "attention", {"attention/multi_head.h", "attention/scoring_kit.h"});
}

}  // namespace
}  // namespace regard
