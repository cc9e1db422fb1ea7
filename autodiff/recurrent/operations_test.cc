#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(OperationsTest, EveryHeaderHasATestThatChecksItsGradients) {
  // The pass is what the recurrent operations share.
  ExpectTestForEachHeader("autodiff/recurrent",
                          {"autodiff/recurrent/recurrent_pass.h"});
}

}  // namespace
}  // namespace regard
