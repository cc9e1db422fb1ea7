#include "attention/transformer/layer.h"

#include <cstdint>
#include <optional>
#include <string>

#include "attention/checks/tape_state.h"
#include "attention/layer_state.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

// Counts the elements that are appended to a state.
class CountingState : public TapeLayerState<float> {
 public:
  using TapeLayerState<float>::TapeLayerState;

  Var<float> Append(int slot, Var<float> part) override {
    numbers_ += part.size();
    return TapeLayerState<float>::Append(slot, part);
  }
  int64_t numbers() const { return numbers_; }

 private:
  int64_t numbers_ = 0;
};

TEST(LayerCacheTest, ALayerStoresOnlyLatents) {
  const auto numbers = [](const std::string& attention) {
    LayerTestHarness<float> run;
    StateSlotNames slots;
    const TransformerLayer<float> layer(
        BuiltInScorers(),
        Parse<TransformerConfig>("width: 16 attention { heads: 2 " + attention +
                                 " }"),
        /*index=*/0, /*memory_width=*/0, run.store().Root(),
        SlotScope(slots, "layer"));
    Forward<float>& forward = run.Begin();
    CountingState state(slots);
    layer(forward, run.Input({3, 4, 16}),
          {.mask = {.causal = true}, .state = &state});
    return static_cast<double>(state.numbers()) / (3 * 4);
  };
  EXPECT_EQ(numbers(""), 2 * 16);
  for (const std::string form : {"MATERIALISED", "ABSORBED"}) {
    const std::string latent = "latent { rank: 5 form: " + form;
    EXPECT_EQ(numbers(latent + " }"), 5 + 4);
    EXPECT_EQ(numbers(latent + " rotary_width: 0 }"), 5);
    EXPECT_EQ(numbers(latent + " query_rank: 3 rotary_width: 2 }"), 5 + 2);
  }
}

// Cross-attention must have latents only if the field cross_attention sets
// them. `shape` returns the shape of cross_attention.latent.weight, or nullopt
// if this parameter does not exist.
TEST(LayerLatentTest, CrossAttentionDoesNotInheritLatents) {
  const auto shape = [](const std::string& fields) -> std::optional<Shape> {
    LayerTestHarness<float> run;
    StateSlotNames slots;
    const TransformerLayer<float> layer(
        BuiltInScorers(),
        Parse<TransformerConfig>("width: 16 attention { heads: 2 latent { "
                                 "rank: 5 } } " +
                                 fields),
        /*index=*/0, /*memory_width=*/6, run.store().Root(),
        SlotScope(slots, "layer"));
    const auto found = run.store().FindByName("cross_attention.latent.weight");
    if (!found.has_value()) return std::nullopt;
    return run.store().info(*found).shape;
  };
  EXPECT_EQ(shape(""), std::nullopt);
  EXPECT_EQ(shape("cross_attention { head_width: 4 }"), std::nullopt);
  // By default, the latents have no rotary part, because query and memory
  // positions belong to different sequences.
  EXPECT_EQ(shape("cross_attention { latent {} }"), Shape({3, 6}));
  EXPECT_EQ(shape("cross_attention { latent { rank: 4 rotary_width: 2 } }"),
            Shape({4 + 2, 6}));
}

}  // namespace
}  // namespace regard
