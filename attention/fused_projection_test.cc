#include "attention/fused_projection.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/multi_head.pb.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Order = FusedProjection::Order;

// A layer of head width 1 over inputs of width 2, under "layer".
struct Layer {
  explicit Layer(const std::string& config, int64_t key_width = 2) {
    ScorerRegistry scorers;
    RegisterBuiltInScores(scorers);
    MultiHead options;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &options));
    layer.emplace(scorers, options, store.Root().Sub("layer"),
                  MultiHeadWidths{2, key_width, key_width});
    store.Finalize(/*seed=*/1);
  }

  absl::Status Import(const FusedProjection& fused) {
    return ImportFusedProjection(fused, *layer, "layer", store);
  }
  std::vector<float> Value(const std::string& name) {
    const auto value = store.value(*store.FindByName("layer." + name));
    return {value.begin(), value.end()};
  }

  ParameterStore<float> store;
  std::optional<MultiHeadAttention<float>> layer;
};

constexpr char kTwoHeads[] = "heads: 2 head_width: 1 attention { dot {} }";
constexpr char kGrouped[] =
    "heads: 4 key_heads: 2 head_width: 1 bias: false attention { dot {} }";

std::vector<float> Count(int64_t n) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

TEST(FusedProjectionTest, QueryKeyValueOneAfterAnother) {
  Layer layer(kTwoHeads);
  const std::vector<float> weight = Count(12);
  const std::vector<float> bias = {10, 11, 12, 13, 14, 15};
  ASSERT_TRUE(layer.Import({.weight = weight, .bias = bias}).ok());
  EXPECT_THAT(layer.Value("query.weight"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(layer.Value("key.weight"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(layer.Value("value.weight"), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(layer.Value("query.bias"), ElementsAre(10, 11));
  EXPECT_THAT(layer.Value("value.bias"), ElementsAre(14, 15));
}

// GPT-2's Conv1D is the transpose.
TEST(FusedProjectionTest, InputsFirst) {
  Layer layer(kTwoHeads);
  const std::vector<float> weight = {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11};
  const std::vector<float> bias(6);
  ASSERT_TRUE(
      layer.Import({.weight = weight, .bias = bias, .inputs_first = true})
          .ok());
  EXPECT_THAT(layer.Value("query.weight"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(layer.Value("key.weight"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(layer.Value("value.weight"), ElementsAre(8, 9, 10, 11));
}

TEST(FusedProjectionTest, ByHead) {
  Layer layer(kTwoHeads);
  const std::vector<float> weight = Count(12);
  const std::vector<float> bias = {10, 11, 12, 13, 14, 15};
  ASSERT_TRUE(
      layer.Import({.weight = weight, .bias = bias, .order = Order::kByHead})
          .ok());
  EXPECT_THAT(layer.Value("query.weight"), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(layer.Value("key.weight"), ElementsAre(2, 3, 8, 9));
  EXPECT_THAT(layer.Value("value.weight"), ElementsAre(4, 5, 10, 11));
  EXPECT_THAT(layer.Value("key.bias"), ElementsAre(11, 14));
}

TEST(FusedProjectionTest, GroupedHeads) {
  Layer by_kind(kGrouped);
  const std::vector<float> weight = Count(16);
  ASSERT_TRUE(by_kind.Import({.weight = weight}).ok());
  EXPECT_THAT(by_kind.Value("query.weight"), ElementsAreArray(Count(8)));
  EXPECT_THAT(by_kind.Value("key.weight"), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(by_kind.Value("value.weight"), ElementsAre(12, 13, 14, 15));
  Layer by_head(kGrouped);
  ASSERT_TRUE(by_head.Import({.weight = weight, .order = Order::kByHead}).ok());
  EXPECT_THAT(by_head.Value("query.weight"),
              ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(by_head.Value("key.weight"), ElementsAre(4, 5, 12, 13));
  EXPECT_THAT(by_head.Value("value.weight"), ElementsAre(6, 7, 14, 15));
}

TEST(FusedProjectionTest, WrongSizesAreErrors) {
  Layer layer(kTwoHeads);
  const std::vector<float> weight = Count(12);
  EXPECT_THAT(std::string(layer.Import({.weight = weight}).message()),
              HasSubstr("a fused bias of 0 numbers; the layer takes 6"));
  EXPECT_THAT(std::string(layer.Import({}).message()),
              HasSubstr("6 outputs of 2 inputs"));
  Layer cross(kTwoHeads, /*key_width=*/3);
  EXPECT_THAT(
      std::string(cross.Import({.weight = weight, .bias = Count(6)}).message()),
      HasSubstr("queries and keys of different inputs, 2 and 3"));
}

}  // namespace
}  // namespace regard
