// Tests that row statistics agree with the weights, for the blocked kernel and
// for the row-by-row path. Statistics must not need an array of weights, and
// must not change any bit of the outputs and gradients.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/inspection/site_rows.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/row_statistics.h"
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

using ::testing::ElementsAreArray;

constexpr int64_t kHeads = 4;
constexpr int64_t kWidth = 16;
constexpr int64_t kWindow = 6;

// Causal self-attention of two examples.
class SelfAttention {
 public:
  explicit SelfAttention(const std::string& config) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    MultiHead options;
    options.set_heads(kHeads);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        config, options.mutable_attention()));
    layer_ = std::make_unique<MultiHeadAttention<float>>(
        scorers, options, store_.Root(),
        MultiHeadInputWidths{kWidth, kWidth, kWidth});
    store_.Finalize(1);
    // Larger parameters make the rows of weights differ.
    for (float& value : store_.values()) value *= 2;
    gradients_ = std::make_unique<GradientSlab<float>>(store_);
    forward_ =
        std::make_unique<Forward<float>>(tape_, store_, gradients_.get());
    tape_.set_training(true);
  }

  // Returns the outputs, and the gradients of their sum.
  std::vector<float> Step(int64_t time, Hook<float>* hook,
                          bool recompute = false) {
    forward_->set_hook(hook);
    forward_->BeginStep();
    const std::vector<int64_t> examples = {7, 3};
    tape_.set_random({.seed = 1, .step = 2, .examples = examples});
    const Var<float> x = tape_.Constant({2, time, kWidth});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = std::sin(1.7F * static_cast<float>(i));
    }
    const auto apply = [this](absl::Span<const Var<float>> in) {
      return (*layer_)(*forward_, in[0],
                       layer_->Prepare(*forward_, in[0], in[0]),
                       {.mask = {.causal = true}});
    };
    const Var<float> in[] = {x};
    const Var<float> y = recompute ? Recompute<float>(tape_, in, apply)
                                   : apply(absl::MakeConstSpan(in));
    std::vector<float> all(y.data(), y.data() + y.size());
    forward_->Backward({Sum(y)}, {1.0});
    all.insert(all.end(), gradients_->values().begin(),
               gradients_->values().end());
    return all;
  }

  // The statistics of the first example, computed from the weights of a pass.
  SiteRowStatistics FromWeights(int64_t time) {
    SiteValueRecorder<float> weights({"*/weights"});
    Step(time, &weights);
    const auto* const seen = weights.Find("attention/weights");
    EXPECT_NE(seen, nullptr);
    RowStatisticsRecorder<float> rows(kWindow);
    forward_->set_hook(&rows);
    forward_->BeginStep();
    const NameScope<float> scope(tape_, "attention");
    forward_->Site("weights", tape_.Constant(seen->shape, seen->value));
    return rows.seen()[0];
  }

  Tape<float>& tape() { return tape_; }

 private:
  ParameterStore<float> store_;
  std::unique_ptr<MultiHeadAttention<float>> layer_;
  std::unique_ptr<GradientSlab<float>> gradients_;
  Tape<float> tape_;
  std::unique_ptr<Forward<float>> forward_;
};

// Configs for the blocked kernel, with and without heads side by side, and for
// the row-by-row path. On the row-by-row path, some configs compute all queries
// at once. Other configs compute blocks of queries, with ranges of keys or with
// runs of keys.
constexpr const char* kConfigs[] = {
    "scaled_dot {}",
    "scaled_dot {} dropout: 0.3",
    "scaled_dot {} sink {}",
    "scaled_dot {} sink { logit: 30 learned: false }",
    "scaled_dot {} window: 9",
    "scaled_dot {} position_encoding { alibi {} }",
    "scaled_dot {} position_encoding { rotary {} }",
    "scaled_dot {} forget {}",
    "cosine {}",
    "scaled_dot {} selection { moba { block_size: 4 top_k: 2 } }",
    "additive {}",
    "additive {} block: 7",
    "additive {} block: 7 dropout: 0.3 window: 9",
    "additive {} block: 7 sink {}",
    "scaled_dot {} normalizer { sparsemax {} } block: 5",
    "scaled_dot {} normalizer { sigmoid {} } block: 5",
    "scaled_dot {} map_after { talking_heads {} } block: 5",
    "scaled_dot {} map_before { top_k { keys: 3 } } block: 5",
    "additive {} selection { moba { block_size: 4 top_k: 2 } }",
    "additive {} dropout: 0.3 selection { moba { block_size: 4 top_k: 2 } }",
    "additive {} map_after { talking_heads {} } "
    "selection { moba { block_size: 4 top_k: 2 } }"};

class AttendRowsTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Configs, AttendRowsTest,
                         ::testing::ValuesIn(kConfigs));

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want,
                const char* name) {
  ASSERT_EQ(got.size(), want.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-6) << name << ", row " << i;
  }
}

TEST_P(AttendRowsTest, MatchTheWeightsAndChangeNoBit) {
  for (const int64_t time : {1, 20, 150}) {
    SelfAttention attention(GetParam());
    const std::vector<float> plain = attention.Step(time, nullptr);
    RowStatisticsRecorder<float> rows(kWindow);
    EXPECT_THAT(attention.Step(time, &rows), ElementsAreArray(plain));
    ASSERT_EQ(rows.seen().size(), 1u);
    const SiteRowStatistics& got = rows.seen()[0];
    EXPECT_EQ(got.site, "attention/weights");
    EXPECT_EQ(got.heads, kHeads);
    EXPECT_EQ(got.queries, time);
    const SiteRowStatistics want = attention.FromWeights(time);
    ExpectNear(got.sum, want.sum, "sum");
    ExpectNear(got.entropy, want.entropy, "entropy");
    ExpectNear(got.top, want.top, "top");
    ExpectNear(got.first, want.first, "first");
    ExpectNear(got.window, want.window, "window");
    EXPECT_THAT(got.top_key, ElementsAreArray(want.top_key));
  }
}

TEST_P(AttendRowsTest, AreReportedOnceInARecomputedPass) {
  SelfAttention attention(GetParam());
  const std::vector<float> plain = attention.Step(30, nullptr, true);
  RowStatisticsRecorder<float> rows(kWindow);
  EXPECT_THAT(attention.Step(30, &rows, true), ElementsAreArray(plain));
  ASSERT_EQ(rows.seen().size(), 1u);
  EXPECT_EQ(rows.seen()[0].queries, 30);
}

TEST(MemoryOfRowsTest, IsLinearInTheLength) {
  constexpr int64_t kTime = 1024;
  for (const char* config :
       {"scaled_dot {}", "scaled_dot {} position_encoding { alibi {} }",
        "additive { width: 2 }"}) {
    size_t bytes[2];
    for (const bool reads : {false, true}) {
      SelfAttention attention(config);
      RowStatisticsRecorder<float> rows(kWindow);
      // In the first step, the tape allocates the required memory.
      for (int i = 0; i < 2; ++i) {
        attention.Step(kTime, reads ? &rows : nullptr);
      }
      bytes[reads ? 1 : 0] = attention.tape().high_water_bytes();
    }
    // Statistics need six arrays of double and one array of int32, plus the
    // scratch memory of one block.
    constexpr size_t kArrays = 2 * kHeads * kTime * (6 * 8 + 4);
    EXPECT_LT(bytes[1], bytes[0] + kArrays + (1 << 18)) << config;
    EXPECT_LT(bytes[1] - bytes[0], 2 * kHeads * kTime * kTime / 8) << config;
  }
}

// A hook that halves the weights. The statistics must describe the halved
// weights.
class Halves : public CapturingHook<float> {
 public:
  Halves() : CapturingHook<float>("none") {}

  HookRequest Request(const std::string& site) override {
    if (site != "attention/weights") return {};
    return {.replacement = true, .rows = {.entropy = true}};
  }
  Var<float> Replace(Tape<float>&, const std::string&,
                     Var<float> weights) override {
    return weights * 0.5F;
  }
  void OnRowStatistics(const std::string&,
                       const AttentionStatistics& rows) override {
    sum = rows.sum[0];
  }

  double sum = 0;
};

TEST(ReplacedRowsTest, DescribeTheReplacedWeights) {
  SelfAttention attention("scaled_dot {}");
  Halves hook;
  attention.Step(5, &hook);
  EXPECT_EQ(hook.sum, 0.5);
}

}  // namespace
}  // namespace regard
