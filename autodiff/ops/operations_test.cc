#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(OperationsTest, EveryHeaderHasATestThatChecksItsGradients) {
  // The reference implementations only compose operations.
  ExpectTestForEachHeader("autodiff/ops",
                          {"autodiff/ops/recurrent_reference.h"});
}

}  // namespace
}  // namespace regard
