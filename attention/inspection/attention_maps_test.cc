#include "attention/inspection/attention_maps.h"

#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AttentionMapsTest, AreNamedByLayerAndKindAndJoinSteps) {
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  forward.BeginStep();
  const auto visit = [&](const Shape& shape, float value) {
    const NameScope<float> scope(tape, "attention");
    forward.Site("weights", tape.Full(shape, value));
    forward.Site("context", tape.Full(shape, value));
  };
  const auto maps = RecordAttentionMaps(forward, {"*"}, [&] {
    {
      const NameScope<float> encoder(tape, "encoder");
      const NameScope<float> layer(tape, "layers", 1);
      const NameScope<float> self(tape, "self");
      visit({1, 2, 1, 2}, 0.5);
    }
    for (int t = 0; t < 2; ++t) {
      const NameScope<float> step(tape, "step", t);
      const NameScope<float> decoder(tape, "decoder");
      visit({2 - t, 1, 1, 2}, static_cast<float>(t + 1));
    }
    visit({1, 1, 1, 1}, 1);
    const NameScope<float> elsewhere(tape, "reader");
    visit({1, 1, 1, 1}, 1);
  });
  ASSERT_EQ(maps.size(), 4);
  EXPECT_EQ(maps[2].name, "attention");
  EXPECT_EQ(maps[2].layer, 0);
  EXPECT_EQ(maps[3].name, "reader");
  EXPECT_EQ(maps[0].name, "encoder.1.self");
  EXPECT_EQ(maps[0].site, "encoder/layers[1]/self/attention/weights");
  EXPECT_EQ(AllLayersPattern(maps[0].site),
            "encoder/layers[*]/self/attention/weights");
  EXPECT_EQ(AllLayersPattern(maps[1].site), maps[1].site);
  EXPECT_EQ(maps[0].stack, "encoder");
  EXPECT_EQ(maps[0].layer, 1);
  EXPECT_FALSE(maps[0].over_memory);
  EXPECT_THAT(maps[0].weights, ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_EQ(maps[1].name, "attention");
  EXPECT_EQ(maps[1].site, "step[*]/decoder/attention/weights");
  EXPECT_EQ(maps[1].stack, "");
  EXPECT_TRUE(maps[1].over_memory);
  EXPECT_EQ(maps[1].shape, Shape({2, 1, 2, 2}));
  // The second source has only one step, so its weights at the second step
  // are 0.
  EXPECT_THAT(maps[1].weights, ElementsAre(1, 1, 2, 2, 1, 1, 0, 0));
  EXPECT_THAT(maps[1].gradients, IsEmpty());
  EXPECT_EQ(forward.hook(), nullptr);
}

TEST(AttentionMapsTest, ShowScoresOnRequest) {
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  forward.BeginStep();
  SiteValueRecorder<float> recorder({"*"});
  forward.set_hook(&recorder);
  for (const char* scope : {"decoder", "reader"}) {
    const NameScope<float> outer(tape, scope);
    const NameScope<float> attention(tape, "attention");
    forward.Site("scores", tape.Full({1, 1, 1, 2}, 3));
    forward.Site("weights", tape.Full({1, 1, 1, 2}, 0.5));
  }
  const auto maps = AttentionMaps(recorder, "scores");
  ASSERT_EQ(maps.size(), 2);
  EXPECT_EQ(maps[0].name, "attention");
  EXPECT_EQ(maps[1].name, "reader");
  EXPECT_EQ(maps[1].site, "reader/attention/scores");
  EXPECT_THAT(maps[1].weights, ElementsAre(3, 3));
}

}  // namespace
}  // namespace regard
