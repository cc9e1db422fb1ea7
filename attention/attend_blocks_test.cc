// Tests of attention in blocks of queries: memory, the rule that chooses
// blocks, hooks, and activation checkpointing. The generated tests of scores do
// not cover these topics.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/positions.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/fault_finder.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

using ::testing::ElementsAreArray;

constexpr int64_t kHeads = 2;
constexpr int64_t kWidth = 4;

// Causal self-attention, with gradients of the sum of the context.
class SelfAttention {
 public:
  explicit SelfAttention(const std::string& config) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    Attention attention;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention));
    attention_ = std::make_unique<AttentionLayer<float>>(
        scorers, attention, store_.Root(),
        ScoreWidths{.heads = kHeads, .query = kWidth, .key = kWidth});
    store_.Finalize(1);
    gradients_ = std::make_unique<GradientSlab<float>>(store_);
    forward_ =
        std::make_unique<Forward<float>>(tape_, store_, gradients_.get());
  }

  void Begin(int64_t time, int64_t batch = 1) {
    forward_->BeginStep();
    const Shape shape = {batch, kHeads, time, kWidth};
    x_ = tape_.Constant(shape);
    for (int64_t i = 0; i < x_.size(); ++i) {
      x_.data()[i] = std::sin(1.7F * static_cast<float>(i));
    }
    inputs_.score.queries = tape_.Input(shape, x_.span());
    inputs_.score.keys = attention_->Prepare(*forward_, {.keys = x_});
    inputs_.score.mask.causal = true;
    inputs_.values = x_;
    inputs_.context_only = true;
  }

  Var<float> Attend() { return attention_->Attend(*forward_, inputs_).context; }

  // Returns the gradients of the queries and of the parameters.
  std::vector<float> Backward(Var<float> context) {
    forward_->Backward({Sum(context)}, {1.0});
    const float* const d = inputs_.score.queries.grad_data();
    std::vector<float> all(d, d + inputs_.score.queries.size());
    all.insert(all.end(), gradients_->values().begin(),
               gradients_->values().end());
    return all;
  }

  std::vector<float> Step(int64_t time) {
    Begin(time);
    return Backward(Attend());
  }

  Tape<float>& tape() { return tape_; }
  Forward<float>& forward() { return *forward_; }
  const AttendInputs<float>& inputs() const { return inputs_; }
  const AttentionLayer<float>& layer() const { return *attention_; }

 private:
  ParameterStore<float> store_;
  std::unique_ptr<AttentionLayer<float>> attention_;
  std::unique_ptr<GradientSlab<float>> gradients_;
  Tape<float> tape_;
  std::unique_ptr<Forward<float>> forward_;
  Var<float> x_;
  AttendInputs<float> inputs_;
};

TEST(AttendBlocksTest, MemoryIsLinearInTheLength) {
  for (const char* rest : {"", "dropout: 0.1 normalizer { sparsemax {} }",
                           "position_encoding { alibi {} }"}) {
    size_t before = 0;
    for (const int64_t time : {600, 1200}) {
      SelfAttention attention(std::string("additive {} ") + rest);
      attention.tape().set_training(true);
      attention.Step(time);
      const size_t bytes = attention.tape().high_water_bytes();
      if (before > 0) {
        EXPECT_LT(static_cast<double>(bytes),
                  2.3 * static_cast<double>(before));
      }
      before = bytes;
    }
    EXPECT_LT(before, size_t{4} * kHeads * 1200 * 1200 * sizeof(float) / 2);
  }
}

// The bias must not need an array with a number for each pair, which would take
// 1 GiB per head.
TEST(AttendBlocksTest, ABiasByDistanceNeedsNoArrayOfPairs) {
  SelfAttention attention(
      "formula { score: 'q . k / sqrt(d) + b[i - j]' "
      "parameter { name: 'b' table { highest: 127 } } }");
  constexpr int64_t kTime = 16384;
  attention.Step(kTime);
  EXPECT_LT(attention.tape().high_water_bytes(), size_t{64} << 20);
}

TEST(AttendBlocksTest, BlocksAreUsedFromTheDocumentedSizes) {
  for (const auto& [config, time, blocks] :
       {std::tuple("additive {}", 512, false),
        {"additive {}", 513, true},
        {"additive {} block: 2", 3, true},
        {"formula { score: 'sum(max(W q, U k))' width: 40 }", 512, true},
        {"formula { score: 'sum(max(W q, U k))' width: 30 }", 512, false},
        {"scaled_dot {}", 513, true}}) {
    SelfAttention attention(config);
    attention.Begin(time);
    const size_t before = attention.tape().records();
    attention.Attend();
    EXPECT_EQ(attention.tape().records() - before == 1, blocks)
        << config << ", " << time;
  }
}

TEST(AttendBlocksTest, BlocksAreUsedForALargeBatchOfShortExamples) {
  SelfAttention attention("formula { score: 'sum(max(W q, U k))' width: 40 }");
  constexpr int64_t kTime = 64;
  constexpr int64_t kBatch = 205;
  attention.Begin(kTime, kBatch);
  const size_t before = attention.tape().records();
  const Var<float> context = attention.Attend();
  EXPECT_EQ(attention.tape().records(), before + 1);
  attention.Backward(context);
  EXPECT_LT(attention.tape().high_water_bytes(),
            kBatch * kHeads * kTime * kTime * 40 * sizeof(float) / 8);
}

// In a step of a search, the query must not be computed in blocks. A block
// would copy all keys and values that the query sees.
TEST(AttendBlocksTest, AStepOfASearchCopiesNoKeys) {
  const auto bytes = [](const std::string& config, int64_t queries) {
    SelfAttention attention(config);
    constexpr int64_t kTime = 20000;
    attention.Begin(kTime);
    AttendInputs<float> step = attention.inputs();
    step.score.queries = attention.tape().Full({1, kHeads, queries, kWidth}, 1);
    step.score.positions.first_query = kTime - queries;
    attention.tape().set_recording(false);
    attention.layer().Attend(attention.forward(), step);
    return attention.tape().high_water_bytes();
  };
  for (const int64_t queries : {1, 3}) {
    EXPECT_EQ(bytes("additive {} block: 1", queries),
              bytes("additive {}", queries));
  }
}

TEST(AttendBlocksTest, AWindowRemovesTheDistanceLimitOfTheScore) {
  constexpr char kScore[] = "relative_dot { max_position: 4 } ";
  const auto limit = [&](const char* window) {
    return SelfAttention(absl::StrCat(kScore, window)).layer().MaxDistance();
  };
  EXPECT_EQ(limit(""), 3);
  EXPECT_EQ(limit("window: 5"), 3);
  EXPECT_EQ(limit("window: 4"), kUnlimited);
  SelfAttention whole(absl::StrCat(kScore, "window: 3"));
  SelfAttention blocks(absl::StrCat(kScore, "window: 3 block: 3"));
  whole.Begin(20);
  blocks.Begin(20);
  EXPECT_THAT(blocks.Attend().span(), ElementsAreArray(whole.Attend().span()));
}

TEST(AttendBlocksTest, AWarmStepAllocatesNothing) {
  SelfAttention attention("additive {} block: 3 dropout: 0.1");
  attention.tape().set_training(true);
  for (int i = 0; i < 3; ++i) attention.Step(10);
  attention.Begin(10);
  const int64_t before = AllocationCount();
  const Var<float> context = attention.Attend();
  attention.tape().Backward(Sum(context));
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST(AttendBlocksTest, ReadingHookPointsChangesNothing) {
  SelfAttention attention("additive {} block: 3");
  const std::vector<float> expected = attention.Step(8);
  attention.Begin(8);
  CapturingHook<float> hook("*");
  attention.forward().set_hook(&hook);
  const Var<float> context = attention.Attend();
  EXPECT_THAT(hook.names(),
              ElementsAreArray({"attention/queries", "attention/keys",
                                "attention/values", "attention/scores",
                                "attention/weights", "attention/context"}));
  EXPECT_EQ(hook["*weights"].shape(), Shape({1, kHeads, 8, 8}));
  EXPECT_EQ(hook["*weights"].data()[0], 1);  // the first query sees one key
  EXPECT_THAT(attention.Backward(context), ElementsAreArray(expected));
}

TEST(AttendBlocksTest, RequestedWeightGradientsDisableBlocks) {
  SelfAttention attention("additive {} block: 3");
  attention.Begin(8);
  CapturingHook<float> hook("*weights", /*gradients=*/true);
  attention.forward().set_hook(&hook);
  attention.tape().Backward(Sum(attention.Attend()));
  EXPECT_NE(hook["*weights"].grad_data(), nullptr);
}

TEST(AttendBlocksTest, WorkWithinARecomputation) {
  SelfAttention attention("additive {} block: 3 dropout: 0.3");
  attention.tape().set_training(true);
  const std::vector<float> expected = attention.Step(8);
  attention.Begin(8);
  const Var<float> inputs[] = {attention.inputs().score.queries,
                               attention.inputs().score.keys};
  const Var<float> context = Recompute(
      attention.tape(), absl::MakeConstSpan(inputs),
      [&attention](absl::Span<const Var<float>> in) {
        AttendInputs<float> now = attention.inputs();
        now.score.queries = in[0];
        now.score.keys = in[1];
        return attention.layer().Attend(attention.forward(), now).context;
      });
  EXPECT_THAT(attention.Backward(context), ElementsAreArray(expected));
}

TEST(AttendBlocksTest, AFaultFinderFindsNoFault) {
  SelfAttention attention(
      "kernel { shape: BOXCAR width: 0.5 } block: 3 "
      "position_encoding { alibi {} }");
  FaultFinder<float> finder(attention.tape());
  attention.Step(8);
  EXPECT_EQ(finder.fault(), "");
}

}  // namespace
}  // namespace regard
