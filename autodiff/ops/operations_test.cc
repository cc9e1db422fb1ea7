#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(OperationsTest, EveryHeaderHasATestThatChecksItsGradients) {
  ExpectTestForEachHeader("autodiff/ops", {});
}

}  // namespace
}  // namespace regard
