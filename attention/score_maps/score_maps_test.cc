#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/score_map.h"
#include "attention/score_maps/built_in_score_maps.h"
#include "attention/score_maps/score_map.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsNan;

constexpr int32_t kTwoLengths[] = {5, 3};
constexpr double kHidden = -std::numeric_limits<double>::infinity();

TEST(TalkingHeadsTest, GradientsUnderAMask) {
  CheckGradients(
      {MakeCase("MixHeads", "under a mask", {{{2, 2, 3, 5}, -2, 2}, {{2, 2}}},
                []<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
                  ScoreMapRegistry registry;
                  RegisterBuiltInScoreMaps(registry);
                  ScoreMapConfig config;
                  config.mutable_talking_heads();
                  ParameterStore<T> store;
                  const auto map = registry.Create<T>(config, store.Root(),
                                                      ScoreWidths{.heads = 2});
                  store.Finalize(/*seed=*/1);
                  Forward<T> forward(tape, store, in.subspan(1));
                  ScoreInputs<T> inputs;
                  inputs.mask = {.key_lengths = kTwoLengths, .causal = true};
                  inputs.positions.first_query = 1;
                  return map->Map(forward, in[0], inputs);
                })});
}

// A map with two heads, and its result for x [batch, 2, queries, keys].
class MapRun {
 public:
  MapRun(const std::string& text, const Shape& shape, std::vector<double> x,
         const Mask& mask = {}) {
    ScoreMapRegistry registry;
    RegisterBuiltInScoreMaps(registry);
    ScoreMapConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    map_ = registry.Create<double>(config, store_.Root(),
                                   ScoreWidths{.heads = shape[1]});
    store_.Finalize(/*seed=*/1);
    gradients_ = std::make_unique<GradientSlab<double>>(store_);
    forward_ =
        std::make_unique<Forward<double>>(tape_, store_, gradients_.get());
    in_.mask = mask;
    shape_ = shape;
    x_ = std::move(x);
  }

  std::vector<double>& weight() { return weight_; }

  std::vector<double> Map() {
    if (!weight_.empty()) {
      const auto values = store_.value(*store_.FindByName("weight"));
      std::copy(weight_.begin(), weight_.end(), values.begin());
    }
    forward_->BeginStep();
    input_ = tape_.Input(shape_, x_);
    y_ = map_->Map(*forward_, input_, in_);
    return {y_.data(), y_.data() + y_.size()};
  }

  // Returns the gradients of x if element i of y has the gradient i + 1, even
  // where y is -inf.
  std::vector<double> Gradients() {
    Map();
    y_.grad_ref().AddEach([](int64_t i) { return static_cast<double>(i + 1); });
    forward_->Backward({}, {});
    return {input_.grad_data(), input_.grad_data() + input_.size()};
  }
  std::vector<double> WeightGradients() const {
    const auto all = gradients_->values();
    return {all.begin(), all.begin() + static_cast<int64_t>(weight_.size())};
  }

 private:
  ParameterStore<double> store_;
  std::unique_ptr<ScoreMap<double>> map_;
  std::unique_ptr<GradientSlab<double>> gradients_;
  Tape<double> tape_;
  std::unique_ptr<Forward<double>> forward_;
  ScoreInputs<double> in_;
  Shape shape_ = Shape({0});
  std::vector<double> x_;
  std::vector<double> weight_;
  Var<double> input_;
  Var<double> y_;
};

TEST(TopKTest, KeepsTheLargestAndTheFirstOfEqualScores) {
  const auto map = [](int keys, const std::vector<double>& x) {
    return MapRun("top_k { keys: " + std::to_string(keys) + " }",
                  {1, 1, 1, static_cast<int64_t>(x.size())}, x)
        .Map();
  };
  EXPECT_THAT(map(2, {0.5, -1, 3, 2}), ElementsAre(kHidden, kHidden, 3, 2));
  EXPECT_THAT(map(2, {1, 2, 1, 1}), ElementsAre(1, 2, kHidden, kHidden));
  EXPECT_THAT(map(3, {0, 0, 0, 0, 0}), ElementsAre(0, 0, 0, kHidden, kHidden));
  EXPECT_THAT(map(1, {kHidden, kHidden}), ElementsAre(kHidden, kHidden));
  EXPECT_THAT(map(1, {NAN, 7, 8}), ElementsAre(IsNan(), kHidden, kHidden));
  EXPECT_THAT(map(2, {4}), ElementsAre(4));
  EXPECT_THAT(map(2, {4, -3}), ElementsAre(4, -3));
  EXPECT_THAT(map(2, {}), ElementsAre());
}

// The first query sees two keys, so the map must keep both scores. The second
// query sees four keys, so the map must keep the scores 3 and 4. Masked scores,
// even NaN, must have no effect.
TEST(TopKTest, CountsOnlyVisibleKeys) {
  static constexpr int32_t kLengths[] = {2, 4};
  MapRun run("top_k { keys: 2 }", {1, 1, 2, 5},
             {1, 2, 9, NAN, 9, 3, 1, 4, 2, 9}, {.key_lengths = kLengths});
  const std::vector<double> y = run.Map();
  EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 2), ElementsAre(1, 2));
  EXPECT_THAT(std::vector<double>(y.begin() + 5, y.begin() + 9),
              ElementsAre(3, kHidden, 4, kHidden));
}

TEST(TopKTest, GradientsGoOnlyToKeptScores) {
  MapRun run("top_k { keys: 2 }", {1, 1, 2, 3}, {1, 3, 2, 5, 5, 5});
  EXPECT_THAT(run.Gradients(), ElementsAre(0, 2, 3, 4, 5, 0));
}

TEST(TalkingHeadsTest, IsTheIdentityAtFirst) {
  const std::vector<double> x = {1, kHidden, 3, 0.1, -5, 1e300};
  MapRun run("talking_heads {}", {1, 2, 1, 3}, x);
  EXPECT_THAT(run.Map(), ElementsAreArray(x));
}

// The weight W is [[1, 2], [3, 4]]. The scores of two keys are 5 and 6 in head
// 0, and 7 and 8 in head 1.
TEST(TalkingHeadsTest, ValuesAndGradientsByHand) {
  MapRun run("talking_heads {}", {1, 2, 1, 2}, {5, 6, 7, 8});
  run.weight() = {1, 2, 3, 4};
  EXPECT_THAT(run.Map(), ElementsAre(19, 22, 43, 50));
  // The gradient of y is d = [[1, 2], [3, 4]]. The gradients must be W^T d for
  // x, and d x^T for W.
  EXPECT_THAT(run.Gradients(), ElementsAre(10, 14, 14, 20));
  EXPECT_THAT(run.WeightGradients(), ElementsAre(17, 23, 39, 53));
}

// In head 0, key 1 has the score -inf, which must add 0 to head 1. Key 2 is
// masked.
TEST(TalkingHeadsTest, MaskedScoresAddNothingToOtherHeads) {
  static constexpr int32_t kLengths[] = {2};
  MapRun run("talking_heads {}", {1, 2, 1, 3}, {5, kHidden, NAN, 7, 8, NAN},
             {.key_lengths = kLengths});
  run.weight() = {1, 2, 3, 4};
  const std::vector<double> y = run.Map();
  EXPECT_EQ(y[0], 19);
  EXPECT_EQ(y[1], kHidden);
  EXPECT_EQ(y[3], 43);
  EXPECT_EQ(y[4], 32);
  const std::vector<double> d = run.Gradients();
  // The gradients of y are 1 and 4 for key 0 in the two heads, and 5 for key 1
  // in head 1. All other gradients of y must be ignored.
  EXPECT_THAT(d, ElementsAre(13, 0, 0, 18, 20, 0));
  EXPECT_THAT(run.WeightGradients(), ElementsAre(5, 7, 20, 68));
}

TEST(TalkingHeadsTest, AcceptsEmptyInput) {
  EXPECT_THAT(MapRun("talking_heads {}", {1, 2, 0, 3}, {}).Map(),
              ElementsAre());
  EXPECT_THAT(MapRun("talking_heads {}", {1, 2, 3, 0}, {}).Map(),
              ElementsAre());
  EXPECT_THAT(MapRun("talking_heads {}", {1, 1, 1, 1}, {4}).Map(),
              ElementsAre(4));
}

}  // namespace
}  // namespace regard
