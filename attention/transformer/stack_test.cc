// Tests layers and stacks: sizes, gradients, caches, activation checkpointing
// and padding.
#include "attention/transformer/stack.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/checks/tape_state.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "google/protobuf/repeated_field.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/interventions/intervention.pb.h"

namespace regard {
namespace {

// Configs of every kind, with a memory of width 5 or without a memory.
struct StackCase {
  const char* config;
  int64_t memory_width;
};

constexpr StackCase kEveryKind[] = {
    {"width: 4 layers: 2 attention { heads: 2 }", 0},
    {"width: 4 layers: 1 attention { heads: 2 } norm_order: POST", 5},
    {"width: 4 layers: 2 attention { heads: 2 bias: false attention { "
     "position_encoding { rotary {} } } } feed_forward { hidden: 3 activation: "
     "SWIGLU bias: false } norm { kind: RMS_NORM }",
     5},
    {"width: 4 layers: 2 attention { heads: 4 key_heads: 2 attention { "
     "additive { width: 3 } window: 2 } } feed_forward { hidden: 3 activation: "
     "GELU } pattern {} pattern { attention { attention { normalizer { "
     "sparsemax {} } } } cross_attention { attention { cosine {} } } } "
     "norm_order: POST final_norm: true",
     5},
    {"width: 4 layers: 2 attention { heads: 2 attention { dropout: 0.2 } } "
     "feed_forward { hidden: 5 activation: GELU_TANH dropout: 0.2 } dropout: "
     "0.2 drop_path: 0.3 recompute: true",
     5},
    {"width: 4 layers: 2 attention { heads: 2 head_width: 3 latent { rank: 3 "
     "rotary_width: 2 query_rank: 3 } } feed_forward { hidden: 3 activation: "
     "GELU } pattern { cross_attention { latent {} } } pattern { attention { "
     "latent { form: ABSORBED rotary_width: 0 } } }",
     5},
    {"width: 4 layers: 2 attention { heads: 2 } mixer { linear_attention { "
     "heads: 2 decay: CHANNEL } } pattern {} pattern { mixer { "
     "linear_attention { decay: HEAD } } }",
     5},
};

// A stack with 3 examples of 4 positions, and with memories of 6 positions.
// `lengths_` and `memory_lengths_` are the numbers of valid positions.
template <typename T>
class StackRun {
 public:
  static constexpr int64_t kBatch = 3;
  static constexpr int64_t kTime = 4;
  static constexpr int64_t kMemoryTime = 6;

  StackRun(const std::string& config, int64_t memory_width)
      : StackRun(Parse<TransformerConfig>(config), memory_width) {}
  StackRun(const TransformerConfig& config, int64_t memory_width)
      : config_(config),
        memory_width_(memory_width),
        stack_(BuiltInScorers(), config_, memory_width, run_.store().Root()) {}

  // The mask is causal in decoders. In encoders, `lengths_` masks positions.
  Var<T> Compute(Forward<T>& forward, Var<T> x, Var<T> memory) {
    LayerInputs<T> inputs;
    std::vector<PreparedSource<T>> memories;
    if (memory_width_ > 0) {
      inputs.mask.causal = true;
      inputs.memory_mask.key_lengths = memory_lengths_;
      for (int64_t i = 0; i < stack_.layers(); ++i) {
        memories.push_back(stack_.PrepareMemory(forward, i, memory));
      }
    } else {
      inputs.mask.key_lengths = lengths_;
    }
    return stack_(forward, x, inputs, memories);
  }

  std::vector<Shape> Shapes() const {
    const Shape x = {kBatch, kTime, config_.width()};
    if (memory_width_ == 0) return {x};
    return {x, {kBatch, kMemoryTime, memory_width_}};
  }

  LayerTestHarness<T>& run() { return run_; }
  const TransformerStack<T>& stack() const { return stack_; }
  const TransformerConfig& config() const { return config_; }

 private:
  LayerTestHarness<T> run_;
  const TransformerConfig config_;
  const int64_t memory_width_;
  TransformerStack<T> stack_;
  const std::vector<int32_t> lengths_ = {4, 1, 3};
  const std::vector<int32_t> memory_lengths_ = {6, 2, 1};
};

class StackTest : public ::testing::TestWithParam<StackCase> {};

INSTANTIATE_TEST_SUITE_P(EveryKind, StackTest, ::testing::ValuesIn(kEveryKind));

TEST_P(StackTest, GradientsAgreeWithDifferences) {
  StackRun<double> stack(GetParam().config, GetParam().memory_width);
  stack.run().tape().set_training(true);
  CheckLayerGradients(
      stack.run(), stack.Shapes(),
      [&](Forward<double>& forward, absl::Span<const Var<double>> in) {
        return stack.Compute(forward, in[0],
                             in.size() > 1 ? in[1] : Var<double>());
      });
}

// Activation checkpointing must not change any bit of values and gradients,
// even with dropout and DropPath.
TEST_P(StackTest, RecomputationChangesNoBit) {
  std::vector<float> values[2];
  std::vector<float> gradients[2];
  for (const bool recompute : {false, true}) {
    auto config = Parse<TransformerConfig>(GetParam().config);
    config.set_dropout(0.2);
    config.set_drop_path(0.3);
    config.set_recompute(recompute);
    StackRun<float> stack(config, GetParam().memory_width);
    stack.run().tape().set_training(true);
    Forward<float>& forward = stack.run().Begin();
    std::vector<Var<float>> in;
    for (const Shape& shape : stack.Shapes()) {
      in.push_back(stack.run().Input(shape, in.size()));
    }
    const Var<float> y =
        stack.Compute(forward, in[0], in.size() > 1 ? in[1] : Var<float>());
    values[recompute] = ValuesOf(y);
    stack.run().BackwardFrom(y);
    std::vector<float>& all = gradients[recompute];
    all.assign(stack.run().gradients().begin(), stack.run().gradients().end());
    for (const Var<float> x : in) {
      all.insert(all.end(), x.grad_data(), x.grad_data() + x.size());
    }
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(StackMemoryTest, RecomputationKeepsLess) {
  const auto bytes = [](const char* recompute) {
    StackRun<float> stack(
        std::string("width: 32 layers: 8 attention { heads: 2 } ") + recompute,
        0);
    Forward<float>& forward = stack.run().Begin();
    const size_t before = stack.run().tape().high_water_bytes();
    const Var<float> y =
        stack.Compute(forward, stack.run().Input({3, 128, 32}), {});
    stack.run().BackwardFrom(y);
    return stack.run().tape().high_water_bytes() - before;
  };
  const size_t kept = bytes("");
  EXPECT_LT(bytes("recompute: true"), kept / 4);
}

// Changes the other examples, and the padding of x and of the memory. The bits
// of the second example must stay the same.
TEST_P(StackTest, ExamplesAreIndependentOfOtherExamplesAndPadding) {
  StackRun<float> stack(GetParam().config, GetParam().memory_width);
  Forward<float>& forward = stack.run().Begin();
  const bool decoder = GetParam().memory_width > 0;
  std::vector<Var<float>> in;
  for (const Shape& shape : stack.Shapes()) {
    in.push_back(stack.run().Input(shape, in.size()));
  }
  const auto compute = [&] {
    return ValuesOf(
        stack.Compute(forward, in[0], in.size() > 1 ? in[1] : Var<float>()));
  };
  const std::vector<float> before = compute();
  const int64_t row = StackRun<float>::kTime * stack.config().width();
  // The valid positions of the second example: one position of x in an encoder,
  // all positions of x in a decoder, and two positions of the memory.
  const int64_t valid = decoder ? row : stack.config().width();
  if (decoder) {
    const int64_t width = GetParam().memory_width;
    float* const memory = in[1].data() + StackRun<float>::kMemoryTime * width;
    std::fill(memory + 2 * width, memory + 6 * width, 7e3F);
  } else {
    std::fill(in[0].data() + row + valid, in[0].data() + 2 * row, 7e3F);
  }
  std::fill(in[0].data(), in[0].data() + row, -3.F);
  std::fill(in[0].data() + 2 * row, in[0].data() + 3 * row, 5.F);
  const std::vector<float> after = compute();
  for (int64_t i = row; i < row + valid; ++i) {
    ASSERT_EQ(after[i], before[i]) << "element " << i;
  }
}

// In causal self-attention, steps with the cached keys of each layer must give
// the same bits as one pass over all positions.
TEST(StackCacheTest, StepsHaveTheBitsOfTheWholePass) {
  for (const char* fields :
       {"", "attention { position_encoding { rotary {} } }",
        "key_heads: 1 attention { window: 3 }",
        "attention { additive { width: 3 } }",
        "attention { relative_dot { max_position: 9 } }", "latent { rank: 5 }",
        "latent { form: ABSORBED } attention { window: 3 }"}) {
    StackRun<float> stack(std::string("width: 16 layers: 2 attention { heads: "
                                      "2 ") +
                              fields + " }",
                          0);
    Forward<float>& forward = stack.run().Begin();
    stack.run().tape().set_recording(false);
    const Var<float> x = stack.run().Input({2, 7, 16});
    const Var<float> whole =
        stack.stack()(forward, x, {.mask = {.causal = true}});
    TapeLayerState<float> state(stack.stack().slots());
    for (int64_t t = 0; t < 7; ++t) {
      Var<float> step = forward.tape().Constant({2, 1, 16});
      for (int64_t b = 0; b < 2; ++b) {
        std::copy_n(x.data() + (b * 7 + t) * 16, 16, step.data() + b * 16);
      }
      const Var<float> y = stack.stack()(forward, step,
                                         {.mask = {.causal = true},
                                          .positions = {.first_query = t},
                                          .state = &state});
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i < 16; ++i) {
          ASSERT_EQ(y.data()[b * 16 + i], whole.data()[(b * 7 + t) * 16 + i])
              << fields << ": position " << t;
        }
      }
    }
  }
}

TEST_P(StackTest, WeightsOfAllLayersSumToOneAndChangeNoBit) {
  StackRun<double> stack(GetParam().config, GetParam().memory_width);
  Forward<double>& forward = stack.run().Begin();
  std::vector<Var<double>> in;
  for (const Shape& shape : stack.Shapes()) {
    in.push_back(stack.run().Input(shape, in.size()));
  }
  const Var<double> memory = in.size() > 1 ? in[1] : Var<double>();
  const Var<double> plain = stack.Compute(forward, in[0], memory);
  SiteValueRecorder<double> recorder({"*"});
  forward.set_hook(&recorder);
  const Var<double> y = stack.Compute(forward, in[0], memory);
  EXPECT_EQ(ValuesOf(y), ValuesOf(plain));
  const int64_t heads = stack.config().attention().heads();
  const auto expect_sums = [&](const std::string& branch, int64_t keys) {
    const auto* const w = recorder.Find(branch + "/attention/weights");
    ASSERT_NE(w, nullptr) << branch;
    ASSERT_EQ(w->shape, Shape({3, heads, 4, keys}));
    for (size_t row = 0; row < w->value.size(); row += keys) {
      EXPECT_NEAR(std::accumulate(w->value.begin() + row,
                                  w->value.begin() + row + keys, 0.0),
                  1, 1e-12);
    }
  };
  for (int64_t i = 0; i < stack.stack().layers(); ++i) {
    const std::string layer = "layers[" + std::to_string(i) + "]/";
    expect_sums(layer + "self", 4);
    if (memory.has_value()) expect_sums(layer + "cross", 6);
    const auto* const residual = recorder.Find(layer + "feed_forward/residual");
    ASSERT_NE(residual, nullptr);
    EXPECT_EQ(residual->shape, y.shape());
    EXPECT_NE(recorder.Find(layer + "feed_forward/feed_forward"), nullptr);
    // The output of attention has the shape of x. With PRE norms, the value at
    // "residual" is x plus the output of attention.
    const auto* const added = recorder.Find(layer + "self/attention_output");
    ASSERT_NE(added, nullptr);
    EXPECT_EQ(added->shape, y.shape());
    if (i == 0 && stack.config().norm_order() == TransformerConfig::PRE) {
      const auto* const sum = recorder.Find(layer + "self/residual");
      for (int64_t j = 0; j < y.size(); ++j) {
        EXPECT_EQ(sum->value[j], in[0].data()[j] + added->value[j]);
      }
    }
    EXPECT_EQ(recorder.Find(layer + "cross/attention_output") != nullptr,
              memory.has_value());
  }
  std::set<std::string> names;
  for (const auto& seen : recorder.seen()) {
    EXPECT_TRUE(names.insert(seen.site).second) << seen.site;
  }
}

// Without a memory, layers must behave as if they had no cross-attention. A
// text encoder with cross-attention to images can then also read text without
// images.
TEST(StackMemoryTest, CrossAttentionIsSkippedWithoutAMemory) {
  for (const char* recompute : {"", " recompute: true"}) {
    StackRun<float> stack(std::string("width: 4 layers: 2 attention { heads: "
                                      "2 }") +
                              recompute,
                          5);
    Forward<float>& forward = stack.run().Begin();
    const Var<float> x = stack.run().Input({3, 4, 4});
    SiteValueRecorder<float> recorder({"*"});
    forward.set_hook(&recorder);
    const Var<float> y = stack.stack()(forward, x, {.mask = {.causal = true}});
    for (const auto& seen : recorder.seen()) {
      EXPECT_EQ(seen.site.find("cross"), std::string::npos) << seen.site;
    }
    stack.run().BackwardFrom(y);
    const ParameterStore<float>& store = stack.run().store();
    for (const ParameterInfo& info : store.parameters()) {
      const auto gradient =
          store.Segment(stack.run().gradients(), *store.FindByName(info.name));
      const bool touched = std::any_of(gradient.begin(), gradient.end(),
                                       [](float g) { return g != 0; });
      if (info.name.find("cross") != std::string::npos) {
        EXPECT_FALSE(touched) << info.name;
      } else if (info.name.find("key.bias") == std::string::npos) {
        EXPECT_TRUE(touched) << info.name;
      }
    }
  }
}

// An intervention that removes cross-attention must give the same bits and
// gradients as a call without a memory.
TEST(StackMemoryTest, RemovedCrossAttentionEqualsNoMemory) {
  google::protobuf::RepeatedPtrField<Intervention> intervene;
  *intervene.Add() =
      Parse<Intervention>("site: '*/cross/residual' replace { input {} }");
  const google::protobuf::RepeatedPtrField<SiteStatistic> none;
  ConfiguredHook<float> hook({intervene, none}, /*seed=*/0);
  for (const char* more : {"", "norm_order: POST", "recompute: true",
                           "dropout: 0.2 drop_path: 0.3"}) {
    StackRun<float> stack(
        std::string("width: 4 layers: 2 attention { heads: 2 } ") + more, 5);
    const ParameterStore<float>& store = stack.run().store();
    stack.run().tape().set_training(true);
    const auto run = [&](bool attends) {
      Forward<float>& forward = stack.run().Begin();
      const Var<float> x = stack.run().Input({3, 4, 4});
      const Var<float> memory = stack.run().Input({3, 6, 5});
      forward.set_hook(attends ? hook.BeginUpdate(0) : nullptr);
      std::vector<PreparedSource<float>> memories;
      for (int64_t i = 0; attends && i < 2; ++i) {
        memories.push_back(stack.stack().PrepareMemory(forward, i, memory));
      }
      const Var<float> y =
          stack.stack()(forward, x, {.mask = {.causal = true}}, memories);
      std::vector<float> result = ValuesOf(y);
      stack.run().BackwardFrom(y);
      for (const ParameterInfo& info : store.parameters()) {
        const auto gradient = store.Segment(stack.run().gradients(),
                                            *store.FindByName(info.name));
        result.insert(result.end(), gradient.begin(), gradient.end());
      }
      return result;
    };
    EXPECT_EQ(run(true), run(false)) << more;
  }
}

int64_t CountOf(const std::string& config, int64_t memory_width = 0) {
  ParameterStore<float> store;
  const TransformerStack<float> stack(BuiltInScorers(),
                                      Parse<TransformerConfig>(config),
                                      memory_width, store.Root());
  return store.num_elements();
}

TEST(StackSizeTest, MatchesAVisionTransformerBlock) {
  EXPECT_EQ(CountOf("width: 768 layers: 1 attention { heads: 8 bias: false "
                    "output_bias: true } feed_forward { activation: GELU } "
                    "norm_order: PRE final_norm: false"),
            7'085'568);
}

TEST(StackSizeTest, MatchesABertLayer) {
  EXPECT_EQ(CountOf("width: 768 layers: 1 attention { heads: 12 } "
                    "feed_forward { hidden: 3072 activation: GELU } "
                    "norm { epsilon: 1e-12 } norm_order: POST"),
            7'087'872);
}

TEST(StackSizeTest, MatchesADecoderLayerOfTheOriginalPaper) {
  // The layer has self-attention, cross-attention, two linear maps and three
  // norms. The memory has width 7.
  EXPECT_EQ(
      CountOf("width: 16 layers: 1 attention { heads: 4 } feed_forward { "
              "hidden: 32 } norm_order: POST",
              7),
      4 * 17 * 16 + 2 * 17 * 16 + 2 * 8 * 16 + 17 * 32 + 33 * 16 + 3 * 2 * 16);
}

TEST(StackSizeTest, CountsALayerOfOnlyAttention) {
  // Each layer has only self-attention and its norm. The stack has a final
  // norm.
  EXPECT_EQ(CountOf("width: 8 layers: 2 attention { heads: 2 } "
                    "feed_forward { none {} }"),
            2 * (4 * 8 * 8 + 4 * 8 + 2 * 8) + 2 * 8);
}

TEST(StackInitializationTest, ScalesTheMapsThatEndBranches) {
  ParameterStore<double> store;
  const TransformerStack<double> stack(
      BuiltInScorers(),
      Parse<TransformerConfig>(
          "width: 64 layers: 8 attention { heads: 2 } initialization { "
          "weights: NORMAL standard_deviation: 0.5 scale_residual: true "
          "zero_bias: true }"),
      /*memory_width=*/0, store.Root());
  store.Finalize(0);
  const auto deviation = [&](const char* name) {
    double sum = 0;
    const auto values = store.value(*store.FindByName(name));
    for (const double value : values) sum += value * value;
    return std::sqrt(sum / static_cast<double>(values.size()));
  };
  EXPECT_NEAR(deviation("layers.3.attention.query.weight"), 0.5, 0.02);
  EXPECT_NEAR(deviation("layers.3.feed_forward.input.weight"), 0.5, 0.02);
  // The standard deviation is 0.5 / sqrt(16), because there are 16 residual
  // branches.
  EXPECT_NEAR(deviation("layers.3.attention.output.weight"), 0.125, 0.01);
  EXPECT_NEAR(deviation("layers.3.feed_forward.output.weight"), 0.125, 0.01);
  EXPECT_EQ(deviation("layers.3.feed_forward.output.bias"), 0);
}

TEST(StackInitializationTest, CountsExistingBranches) {
  ParameterStore<double> store;
  const TransformerStack<double> stack(
      BuiltInScorers(),
      Parse<TransformerConfig>(
          "width: 64 layers: 8 attention { heads: 2 } initialization { "
          "weights: NORMAL standard_deviation: 0.5 scale_residual: true } "
          "pattern { feed_forward { none {} } } pattern {}"),
      /*memory_width=*/0, store.Root());
  store.Finalize(0);
  double sum = 0;
  const auto values =
      store.value(*store.FindByName("layers.3.attention.output.weight"));
  for (const double value : values) sum += value * value;
  // The pattern leaves 12 residual branches.
  EXPECT_NEAR(std::sqrt(sum / static_cast<double>(values.size())),
              0.5 / std::sqrt(12), 0.01);
}

TEST(StackAllocationTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer counts";
  for (const char* recompute : {"", " recompute: true"}) {
    StackRun<float> stack(
        std::string("width: 16 layers: 2 attention { heads: 2 attention { "
                    "dropout: 0.1 } } dropout: 0.1 drop_path: 0.1") +
            recompute,
        0);
    stack.run().tape().set_training(true);
    const std::vector<float> values = RandomValues<float>(3 * 4 * 16, 1);
    std::vector<float> gradient(values.size());
    const std::vector<int32_t> lengths = {4, 1, 3};
    int64_t before = 0;
    for (int step = 0; step < 6; ++step) {
      if (step == 3) before = AllocationCount();
      Forward<float>& forward = stack.run().Begin();
      const Var<float> x = forward.tape().Leaf(
          const_cast<float*>(values.data()), gradient.data(), {3, 4, 16});
      const Var<float> y =
          stack.stack()(forward, x, {.mask = {.key_lengths = lengths}});
      y.grad_ref().AddEach([](int64_t) { return 1.F; });
      forward.Backward({}, {});
    }
    EXPECT_EQ(AllocationCount() - before, 0) << recompute;
  }
}

TEST(StackDeathTest, RequiresAMemoryForEachLayer) {
  StackRun<float> stack("width: 4 layers: 2 attention { heads: 2 }", 5);
  Forward<float>& forward = stack.run().Begin();
  const Var<float> x = stack.run().Input({1, 2, 4});
  const std::vector<PreparedSource<float>> one(1);
  EXPECT_DEATH(stack.stack()(forward, x, {}, one), "1 memories of 2 layers");
}

}  // namespace
}  // namespace regard
