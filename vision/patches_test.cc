#include "vision/patches.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const Shape& images, int64_t patch) {
    cases.push_back(
        MakeCase("Patches", images.ToString(), {{images}},
                 [=](auto&, auto in) { return Patches(in[0], patch); }));
  };
  add({2, 3, 4, 6}, 2);
  add({1, 1, 3, 3}, 3);
  add({3, 1, 1, 5}, 1);
  add({0, 1, 2, 2}, 1);
  return cases;
}

TEST(PatchesTest, Gradients) { CheckGradients(Cases()); }

TEST(PatchesTest, AreRowByRow) {
  Tape<double> tape;
  std::vector<double> pixels(16);
  std::iota(pixels.begin(), pixels.end(), 0);
  const Var<double> y = Patches(tape.Input({1, 2, 2, 4}, pixels), 2);
  EXPECT_EQ(y.shape(), Shape({1, 2, 8}));
  EXPECT_THAT(y.span(), ElementsAre(0, 1, 4, 5, 8, 9, 12, 13,  //
                                    2, 3, 6, 7, 10, 11, 14, 15));
}

TEST(PatchesDeathTest, RejectsSizesThatPatchesDoNotDivide) {
  Tape<double> tape;
  const Var<double> images = tape.Full({1, 1, 4, 6}, 0.0);
  EXPECT_DEATH(Patches(images, 4), "patches of 4 in images .*1, 1, 4, 6");
  EXPECT_DEATH(Patches(images, 0), "patches of 0");
  EXPECT_DEATH(Patches(images.Reshape({4, 6}), 2), "images .*4, 6");
}

}  // namespace
}  // namespace regard
