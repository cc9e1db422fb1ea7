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
  for (const Shape& shape : std::vector<Shape>{{},
                                               {5},
                                               {0, 3},
                                               {3, 17},
                                               {2, 3, 70},
                                               {2, 2, 3, 5},
                                               {1, 2, 2, 3, 5}}) {
    cases.push_back(MakeCase("Dropout", shape.ToString(), {{shape}},
                             [](auto& tape, auto in) {
                               tape.set_training(true);
                               return Dropout(in[0], 0.3, "site");
                             }));
  }
  return cases;
}

TEST(DropoutTest, Gradients) { CheckGradients(Cases()); }

class DropoutMaskTest : public ::testing::Test {
 protected:
  DropoutMaskTest() { tape_.set_training(true); }

  // Returns the result of dropout for an input of ones.
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
  // The standard deviation of the count is 126.
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

TEST_F(DropoutMaskTest, IsPartOfTheMaskOfTheWhole) {
  const std::vector<float> whole = Mask({2, 5, 33});
  for (const int64_t column : {0, 1, 4, 31}) {
    const int64_t cols = 33 - column;
    const Var<float> part =
        Dropout(tape_.Full({2, 2, cols}, 1), 0.5, "site", /*first_row=*/3,
                /*first_column=*/column);
    for (int64_t i = 0; i < part.size(); ++i) {
      const int64_t row = i / cols / 2 * 5 + 3 + i / cols % 2;
      EXPECT_EQ(part.data()[i], whole[row * 33 + column + i % cols])
          << "from column " << column << ", element " << i;
    }
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

TEST_F(DropoutMaskTest, DoesNotDependOnLaterExamples) {
  const std::vector<int64_t> all = {7, 8, 9};
  tape_.set_random({.seed = 3, .step = 5, .examples = all});
  const std::vector<float> together = Mask({3, 2, 33});
  EXPECT_THAT(Mask({2, 2, 33}),
              ElementsAreArray(together.begin(), together.begin() + 2 * 66));
  EXPECT_DEATH(Mask({4, 2, 33}), "an example has no number");
}

TEST_F(DropoutMaskTest, TheAxesBeforeTheLastTwoAreInTheKey) {
  const std::vector<float> mask = Mask({2, 3, 2, 5});
  for (uint32_t i = 0; i < mask.size(); ++i) {
    const uint64_t hash =
        Hash(uint64_t{i / 10 % 3}, Hash(0, Hash("site", kHashSeed)));
    const uint32_t column = i % 5;
    const auto words = Philox(
        {0, i / 30, i / 5 % 2, column / 4},
        {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)});
    EXPECT_EQ(mask[i] != 0, words[column % 4] >= 0x80000000) << i;
  }
}

// Attention weights are [batch, heads, queries, keys]. The first shape has one
// more axis. The elements of the smaller array must have the same mask in the
// larger array.
TEST_F(DropoutMaskTest, DoesNotDependOnPadding) {
  const Shape shape = {2, 2, 2, 3, 70};
  const std::vector<float> mask = Mask(shape);
  const Shape padded = {3, 4, 5, 6, 77};
  const std::vector<float> padded_mask = Mask(padded);
  for (int64_t i = 0; i < shape.size(); ++i) {
    int64_t at = 0;
    for (int axis = 0; axis < 5; ++axis) {
      at += i / shape.Stride(axis) % shape[axis] * padded.Stride(axis);
    }
    ASSERT_EQ(mask[i], padded_mask[at]) << i;
  }
  const std::vector<float> heads = Mask({1, 2, 3, 3});
  const std::vector<float> padded_heads = Mask({1, 2, 5, 5});
  for (int64_t i = 0; i < 18; ++i) {
    ASSERT_EQ(heads[i], padded_heads[i / 9 * 25 + i / 3 % 3 * 5 + i % 3]) << i;
  }
}

// The masks of any two indices must agree in about half of the elements.
TEST_F(DropoutMaskTest, IndicesAlongAllAxesDiffer) {
  const Shape shape = {2, 2, 2, 2, 4096};
  const std::vector<float> mask = Mask(shape);
  for (int64_t a = 0; a < 16; ++a) {
    for (int64_t b = 0; b < a; ++b) {
      int64_t equal = 0;
      for (int64_t j = 0; j < 4096; ++j) {
        equal += mask[a * 4096 + j] == mask[b * 4096 + j];
      }
      EXPECT_NEAR(equal, 2048, 160) << a << " " << b;  // 5 standard deviations
    }
  }
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

// A second dropout in a scope must not use the mask of the first by mistake.
TEST_F(DropoutMaskTest, SitesOfOneScopeAreDifferent) {
  const char* const expected =
      "two Dropout\\(\\) at \"site\" in one scope \"layer\\[1\\]\"";
  const Shape shape = {2, 3};
  const std::vector<int64_t> examples = {7, 8};
  for (int pass = 0; pass < 2; ++pass) {
    const NameScope<float> scope(tape_, "layer", 1);
    Mask(shape);
    EXPECT_DEATH(Mask(shape), expected);
    EXPECT_DEATH(DropoutMask(tape_, 0.5, "site"), expected);
    Mask(shape, "other");
    {
      const NameScope<float> inner(tape_, "layer", 1);
      Mask(shape);
    }
    EXPECT_DEATH(Mask(shape), expected);
    // Another position or another random state makes another mask, so these
    // calls must not fail.
    Dropout(tape_.Full(shape, 1), 0.5, "site", /*first_row=*/3);
    tape_.set_random({.seed = 1, .step = 0, .examples = examples});
    Mask(shape);
    EXPECT_DEATH(Mask(shape), expected);
    tape_.set_random({});
    // Outside of training there is no mask, so the same site may be used again.
    tape_.set_training(false);
    Mask(shape);
    tape_.set_training(true);
    EXPECT_EQ(Dropout(tape_.Full(shape, 1), 0, "site").size(), 6);
  }
}

TEST_F(DropoutMaskTest, RewoundMasksMayBeMadeAgain) {
  const NameScope<float> scope(tape_, "layer");
  const Tape<float>::Mark mark = tape_.Save();
  const std::vector<float> first = Mask({1, 64});
  tape_.Rewind(mark);
  EXPECT_THAT(Mask({1, 64}), ElementsAreArray(first));
}

TEST_F(DropoutMaskTest, EveryExampleHasANumber) {
  const int64_t examples[] = {5};
  tape_.set_random({1, 0, examples});
  const char* const expected = "1 vs. 1.*an example has no number";
  EXPECT_DEATH(Dropout(tape_.Full({2, 3}, 1), 0.5, "site"), expected);
  const DropoutMask mask(tape_, 0.5, "site");
  uint8_t keep[3];
  EXPECT_DEATH(mask.FillRow(1, 0, 0, 0, 3, keep), expected);
}

TEST_F(DropoutMaskTest, ARateOfOneIsRefused) {
  Var<float> x = tape_.Full({3}, 1);
  EXPECT_DEATH(Dropout(x, 1, "site"), "dropout rate 1");
}

}  // namespace
}  // namespace regard
