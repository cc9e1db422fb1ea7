#include "autodiff/ops/dropout.h"

#include <array>
#include <cstdint>
#include <vector>

#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAreArray;
using ::testing::Not;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const Shape& shape :
       std::vector<Shape>{{}, {5}, {0, 3}, {3, 17}, {2, 3, 70}}) {
    cases.push_back(MakeCase("Dropout", shape.ToString(), {{shape}},
                             [](auto& tape, auto in) {
                               tape.set_training(true);
                               return Dropout(in[0], 0.3, "site");
                             }));
  }
  return cases;
}

TEST(DropoutTest, Gradients) { CheckGradients(Cases()); }

TEST(DropoutTest, EveryOperationHasACase) {
  ExpectCaseForEachOperation("autodiff/ops/dropout.h", Cases());
}

class DropoutMaskTest : public ::testing::Test {
 protected:
  DropoutMaskTest() { tape_.set_training(true); }

  // What becomes of ones.
  std::vector<float> Mask(const Shape& shape, const char* site = "site") {
    const Var<float> y = Dropout(tape_.Full(shape, 1), 0.5, site);
    return {y.data(), y.data() + y.size()};
  }

  Tape<float> tape_;
};

TEST_F(DropoutMaskTest, OutsideTrainingItIsTheIdentity) {
  tape_.set_training(false);
  Var<float> x = tape_.Full({3}, 1);
  EXPECT_EQ(Dropout(x, 0.5, "site").data(), x.data());
}

TEST_F(DropoutMaskTest, KeepsTheMean) {
  Var<float> y = Dropout(tape_.Full({100, 1000}, 1), 0.2, "site");
  int64_t dropped = 0;
  for (const float element : y.span()) {
    EXPECT_TRUE(element == 0 || element == 1.25f) << element;
    dropped += element == 0;
  }
  // The standard deviation is 126.
  EXPECT_NEAR(dropped, 20000, 640);
}

TEST_F(DropoutMaskTest, IsPhiloxOfStepExampleRowAndColumn) {
  tape_.set_random({.seed = 3, .step = 5, .examples = {}});
  const std::vector<float> mask = Mask({2, 3, 70});
  const uint64_t hash = Hash(3, Hash("site", kHashSeed));
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(hash),
                                       static_cast<uint32_t>(hash >> 32)};
  for (uint32_t i = 0; i < mask.size(); ++i) {
    const uint32_t column = i % 70;
    const auto words = Philox({5, i / 210, i / 70 % 3, column / 4}, key);
    EXPECT_EQ(mask[i] != 0, words[column % 4] >= 0x80000000) << i;
  }
}

TEST_F(DropoutMaskTest, FollowsTheExampleIntoAnotherShard) {
  const std::vector<int64_t> all = {7, 8, 9};
  tape_.set_random({.seed = 3, .step = 5, .examples = all});
  const std::vector<float> together = Mask({3, 2, 33});
  const std::vector<int64_t> last = {9};
  tape_.set_random({.seed = 3, .step = 5, .examples = last});
  EXPECT_THAT(Mask({1, 2, 33}),
              ElementsAreArray(together.begin() + 2 * 66, together.end()));
}

TEST_F(DropoutMaskTest, DiffersByStepSeedSiteAndScope) {
  const std::vector<float> first = Mask({1, 64});
  EXPECT_THAT(Mask({1, 64}), ElementsAreArray(first));
  EXPECT_THAT(Mask({1, 64}, "other"), Not(ElementsAreArray(first)));
  {
    NameScope<float> scope(tape_, "layer", 1);
    EXPECT_THAT(Mask({1, 64}), Not(ElementsAreArray(first)));
  }
  tape_.set_random({.seed = 0, .step = 1, .examples = {}});
  EXPECT_THAT(Mask({1, 64}), Not(ElementsAreArray(first)));
  tape_.set_random({.seed = 1, .step = 0, .examples = {}});
  EXPECT_THAT(Mask({1, 64}), Not(ElementsAreArray(first)));
}

TEST_F(DropoutMaskTest, ARateOfOneIsAMistake) {
  Var<float> x = tape_.Full({3}, 1);
  EXPECT_DEATH(Dropout(x, 1, "site"), "dropout rate 1");
}

}  // namespace
}  // namespace regard
