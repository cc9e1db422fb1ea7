#include "vision/vision_transformer.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "vision/image_classifier.h"
#include "vision/vision_transformer.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

VisionTransformerConfig ConfigOf(const std::string& fields,
                                 const std::string& transformer =
                                     "attention { "
                                     "heads: 2 }") {
  return Parse<VisionTransformerConfig>(
      fields +
      " transformer { width: 6 layers: 2 feed_forward { hidden: 5 activation: "
      "GELU } position_embedding { kind: LEARNED } " +
      transformer + " }");
}

std::vector<std::string> Problems(const VisionTransformerConfig& config,
                                  const ImageShape& images = {1, 4, 4}) {
  ConfigProblems problems;
  ValidateVisionTransformer(config, BuiltInScorers(), problems);
  if (problems.ok()) {
    ParameterStore<float> store;
    VisionTransformer<float>(config, images, BuiltInScorers(), store.Root())
        .ValidateImages(problems);
  }
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) {
    paths.push_back(problem.path);
  }
  return paths;
}

// The config has the sizes of timm's vit_base_patch16_224.
TEST(VisionTransformerTest, HasThePublishedParameters) {
  const auto config = Parse<VisionTransformerConfig>(
      "patch: 16 transformer { width: 768 layers: 12 attention { heads: 12 } "
      "position_embedding { kind: LEARNED } }");
  ImageSplits data;
  data.train.shape = {3, 224, 224};
  data.classes.resize(1000);
  ImageClassifier model(config, BuiltInScorers(), data,
                        {.loss = {}, .finalize = false});
  EXPECT_EQ(model.parameters().num_elements(), 86567656);
}

TEST(VisionTransformerTest, Gradients) {
  for (const auto& [pooling, norm] :
       {std::pair("CLASS_TOKEN", "true"), std::pair("MEAN", "false")}) {
    SCOPED_TRACE(pooling);
    LayerTestHarness<double> run;
    const VisionTransformer<double> model(
        ConfigOf(std::string("patch: 2 pooling: ") + pooling,
                 std::string("attention { heads: 2 } embedding_norm: ") + norm),
        {2, 4, 6}, BuiltInScorers(), run.store().Root());
    CheckLayerGradients(run, {{3, 2, 4, 6}},
                        [&](Forward<double>& forward, auto inputs) {
                          return model.Pool(model(forward, inputs[0]));
                        });
  }
}

TEST(VisionTransformerTest, TokensAreTheClassTokenAndThePatches) {
  LayerTestHarness<float> run;
  const VisionTransformer<float> model(ConfigOf("patch: 2"), {1, 4, 6},
                                       BuiltInScorers(), run.store().Root());
  EXPECT_EQ(model.rows(), 2);
  EXPECT_EQ(model.columns(), 3);
  EXPECT_EQ(model.tokens(), 7);
  EXPECT_EQ(model.first_patch(), 1);
  Forward<float>& forward = run.Begin();
  SiteValueRecorder<float> recorder({"*/weights"});
  forward.set_hook(&recorder);
  const Var<float> y = model(forward, run.Input({3, 1, 4, 6}));
  EXPECT_EQ(y.shape(), Shape({3, 7, 6}));
  ASSERT_EQ(recorder.seen().size(), 2);
  EXPECT_EQ(recorder.seen()[1].site,
            "vision_transformer/layers[1]/self/attention/weights");
  EXPECT_EQ(recorder.seen()[1].shape, Shape({3, 2, 7, 7}));
  const Var<float> pooled = model.Pool(y);
  EXPECT_EQ(pooled.shape(), Shape({3, 6}));
  EXPECT_EQ(pooled.data()[6], y.data()[7 * 6]);
}

// The results of an example must be bit-identical with and without other
// examples in its batch.
TEST(VisionTransformerTest, ExamplesAreIndependent) {
  LayerTestHarness<float> run;
  const VisionTransformer<float> model(ConfigOf("patch: 2"), {1, 4, 4},
                                       BuiltInScorers(), run.store().Root());
  std::vector<float> pixels;
  std::vector<float> values;
  {
    Forward<float>& forward = run.Begin();
    const Var<float> both = run.Input({2, 1, 4, 4});
    pixels = ValuesOf(both);
    values = ValuesOf(model(forward, both));
  }
  Forward<float>& forward = run.Begin();
  const Var<float> second = model(
      forward,
      run.tape().Input({1, 1, 4, 4}, absl::MakeConstSpan(pixels).subspan(16)));
  EXPECT_EQ(ValuesOf(second),
            std::vector<float>(values.begin() + 5 * 6, values.end()));
}

TEST(VisionTransformerTest, ReportsOptionsThatDoNotFit) {
  EXPECT_THAT(Problems(ConfigOf("patch: 2")), ElementsAre());
  EXPECT_THAT(Problems(ConfigOf("patch: 3")), ElementsAre("patch"));
  EXPECT_THAT(Problems(ConfigOf("patch: 8")), ElementsAre("patch"));
  EXPECT_THAT(Problems(ConfigOf("patch: 1"), {1, 0, 0}), ElementsAre("patch"));
  EXPECT_THAT(Problems(ConfigOf("patch: 0")), ElementsAre("patch"));
  EXPECT_THAT(Problems(ConfigOf("augmentation { crop: 2 }")),
              ElementsAre("augmentation.crop"));
  EXPECT_THAT(Problems(ConfigOf("", "attention { heads: 4 }")),
              ElementsAre("transformer.attention.heads"));
  EXPECT_THAT(
      Problems(ConfigOf("", "attention { heads: 2 } cross_attention {}")),
      ElementsAre());
  EXPECT_THAT(
      Problems(ConfigOf("patch: 2",
                        "attention { heads: 2 attention { relative_dot { "
                        "max_position: 4 } } }")),
      ElementsAre("transformer.attention.attention"));
}

}  // namespace
}  // namespace regard
