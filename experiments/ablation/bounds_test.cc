#include "experiments/ablation/bounds.h"

#include <cmath>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MetricBound, HoldsAsItsRelationSays) {
  EXPECT_TRUE(ParseBound("m <= 2")->Holds(2));
  EXPECT_FALSE(ParseBound("m < 2")->Holds(2));
  EXPECT_TRUE(ParseBound("m < 2")->Holds(1.5));
  EXPECT_TRUE(ParseBound("m >= 2")->Holds(2));
  EXPECT_FALSE(ParseBound("m > 2")->Holds(2));
  EXPECT_TRUE(ParseBound("m == -1e-3")->Holds(-0.001));
  EXPECT_FALSE(ParseBound("m == 1")->Holds(2));
}

TEST(MetricBound, NeverHoldsForWhatIsNoNumber) {
  for (const char* bound : {"m < 2", "m >= 2", "m == 2"}) {
    EXPECT_FALSE(ParseBound(bound)->Holds(NAN)) << bound;
  }
}

TEST(ParseBound, RefusesWhatIsNoBound) {
  for (const char* text : {"", "m", "m <", "m =< 2", "m < high", "m < 2 3"}) {
    EXPECT_THAT(ParseBound(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("is no bound")))
        << text;
  }
}

}  // namespace
}  // namespace regard
