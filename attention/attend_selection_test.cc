// Tests of attention with a selection of keys: skipped work, hooks, activation
// checkpointing and faults. The generated tests of selections do not cover
// these topics.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/score_map.h"
#include "attention/score_maps/score_map.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/fault_finder.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

using ::testing::ElementsAreArray;

constexpr int64_t kHeads = 2;
constexpr int64_t kWidth = 4;

// Causal self-attention. The query of a position resembles the keys of the
// positions around it, so successive queries select the same blocks.
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
    forward_ = std::make_unique<Forward<float>>(tape_, store_, nullptr);
  }

  void Begin(int64_t time) {
    forward_->BeginStep();
    const Shape shape = {1, kHeads, time, kWidth};
    Var<float> x = tape_.Constant(shape);
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = std::sin(0.01F * static_cast<float>(i / kWidth % time) +
                             static_cast<float>(i % kWidth));
    }
    inputs_.score.queries = tape_.Input(shape, x.span());
    inputs_.score.keys =
        attention_->Prepare(*forward_, {.keys = tape_.Input(shape, x.span())});
    inputs_.score.mask.causal = true;
    inputs_.values = tape_.Input(shape, x.span());
    inputs_.context_only = true;
  }

  Var<float> Attend() { return attention_->Attend(*forward_, inputs_).context; }

  std::vector<float> Backward(Var<float> context) {
    tape_.Backward(Sum(context));
    const float* const d = inputs_.score.queries.grad_data();
    return {d, d + inputs_.score.queries.size()};
  }

  // The number of floating-point operations in the matrix products of a forward
  // and backward pass.
  int64_t Products(int64_t time) {
    Begin(time);
    const int64_t before = GemmFlops();
    Backward(Attend());
    return GemmFlops() - before;
  }

  Tape<float>& tape() { return tape_; }
  Forward<float>& forward() { return *forward_; }
  const AttendInputs<float>& inputs() const { return inputs_; }
  const AttentionLayer<float>& layer() const { return *attention_; }

 private:
  ParameterStore<float> store_;
  std::unique_ptr<AttentionLayer<float>> attention_;
  Tape<float> tape_;
  std::unique_ptr<Forward<float>> forward_;
  AttendInputs<float> inputs_;
};

// Scores for the blocked kernel and for the row-by-row path.
constexpr const char* kScores[] = {
    "scaled_dot {} ", "scaled_dot {} normalizer { sparsemax {} } "};

TEST(AttendSelectionTest, UnselectedKeysAreNotMultiplied) {
  constexpr int64_t kTime = 4096;
  for (const char* score : kScores) {
    SelfAttention plain(score);
    SelfAttention selecting(std::string(score) +
                            "selection { moba { block_size: 256 top_k: 2 } }");
    const auto share = static_cast<double>(selecting.Products(kTime)) /
                       static_cast<double>(plain.Products(kTime));
    // A query sees at most 2 blocks. Without a selection, it sees up to 16
    // blocks. The selected pairs are 23% of the causal pairs. The row-by-row
    // path also reads keys that only other queries selected, so it multiplies
    // more pairs.
    EXPECT_GT(share, 0.2) << score;
    EXPECT_LT(share, 0.4) << score;
    EXPECT_LT(selecting.tape().high_water_bytes(),
              plain.tape().high_water_bytes() * 5 / 4)
        << score;
  }
}

TEST(AttendSelectionTest, HooksSeeOnlyWeightsOfSelectedKeys) {
  for (const char* score : kScores) {
    SelfAttention attention(std::string(score) +
                            "selection { moba { block_size: 2 top_k: 2 } }");
    attention.Begin(12);
    const Var<float> plain = attention.Attend();
    CapturingHook<float> hook("*");
    attention.forward().set_hook(&hook);
    const Var<float> context = attention.Attend();
    EXPECT_THAT(context.span(), ElementsAreArray(plain.span()));
    const Var<float> weights = hook["*weights"];
    for (int64_t row = 0; row < kHeads * 12; ++row) {
      int seen = 0;
      for (int64_t key = 0; key < 12; ++key) {
        seen += weights.data()[row * 12 + key] > 0 ? 1 : 0;
      }
      EXPECT_LE(seen, 4) << row;
      EXPECT_GE(seen, 1) << row;
    }
  }
}

// A hook that replaces each score by 1.
class SameScores : public Hook<float> {
 public:
  HookRequest Request(const std::string& site) override {
    return {.value = site == "attention/weights",
            .replacement = site == "attention/scores"};
  }
  void OnValue(const std::string&, Var<float> value) override {
    weights = value;
  }
  Var<float> Replace(Tape<float>& tape, const std::string&,
                     Var<float> value) override {
    return tape.Full(value.shape(), 1);
  }

  Var<float> weights;
};

TEST(AttendSelectionTest, ReplacedScoresDoNotBringKeysBack) {
  SelfAttention attention(
      "scaled_dot {} selection { moba { block_size: 2 top_k: 1 } }");
  attention.Begin(12);
  SameScores hook;
  attention.forward().set_hook(&hook);
  attention.Attend();
  for (int64_t row = 0; row < kHeads * 12; ++row) {
    const int64_t query = row % 12;
    for (int64_t key = 0; key < 12; ++key) {
      const bool selected = key / 2 == query / 2 && key <= query;
      EXPECT_EQ(hook.weights.data()[row * 12 + key],
                selected ? 1.0F / static_cast<float>(query % 2 + 1) : 0.0F)
          << query << ", " << key;
    }
  }
}

// Keeps only the largest score of each row. Registered in place of the soft
// cap.
template <typename T>
class LargestOnly : public ScoreMap<T> {
 public:
  using Options = SoftCapMap;
  static constexpr bool kMixesKeys = true;

  LargestOnly(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Map(Forward<T>&, Var<T> x, const ScoreInputs<T>&) const override {
    constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
    const Var<T> y = x.tape().Full(x.shape(), kMinusInfinity);
    const int64_t keys = x.dim(3);
    for (int64_t row = 0; row < x.rows(); ++row) {
      const T* const scores = x.data() + row * keys;
      const T* const largest = std::max_element(scores, scores + keys);
      y.data()[row * keys + (largest - scores)] = *largest;
    }
    return y;
  }
};

TEST(AttendSelectionTest, MapsSeeOnlySelectedKeys) {
  constexpr int64_t kTime = 400;
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  std::destroy_at(&scorers.score_maps);
  std::construct_at(&scorers.score_maps);
  scorers.score_maps.Add<LargestOnly>("the largest score of a query");
  for (const char* rest : {"", "window: 40 block: 64"}) {
    Attention config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("dot {} map_before { soft_cap {} } selection { moba { "
                     "block_size: 2 top_k: 1 } } ",
                     rest),
        &config));
    ParameterStore<float> store;
    const AttentionLayer<float> layer(scorers, config, store.Root(),
                                      {.query = 1, .key = 1});
    store.Finalize(1);
    Tape<float> tape;
    Forward<float> forward(tape, store, nullptr);
    forward.BeginStep();
    const Shape shape = {1, 1, kTime, 1};
    AttendInputs<float> inputs;
    inputs.score.queries = tape.Full(shape, -1);
    inputs.score.keys = tape.Constant(shape);
    for (int64_t i = 0; i < kTime; ++i) {
      inputs.score.keys.data()[i] = static_cast<float>(i);
    }
    inputs.score.mask.causal = true;
    inputs.values = inputs.score.keys;
    for (const bool fused : {false, true}) {
      inputs.context_only = fused;
      const Var<float> context = layer.Attend(forward, inputs).context;
      // A query only sees its own block, in which the first key has the largest
      // score. Keys of earlier blocks have larger scores, but must have no
      // effect.
      for (int64_t i = 0; i < kTime; ++i) {
        EXPECT_EQ(context.data()[i], static_cast<float>(i / 2 * 2)) << rest;
      }
    }
  }
}

TEST(AttendSelectionTest, AWarmStepAllocatesNothing) {
  for (const char* score : kScores) {
    SelfAttention attention(std::string(score) +
                            "selection { moba { block_size: 2 top_k: 2 } }");
    for (int i = 0; i < 3; ++i) {
      attention.Begin(300);
      attention.tape().Backward(Sum(attention.Attend()));
    }
    attention.Begin(300);
    const int64_t before = AllocationCount();
    attention.tape().Backward(Sum(attention.Attend()));
    EXPECT_EQ(AllocationCount() - before, 0) << score;
  }
}

TEST(AttendSelectionTest, WorksWithinARecomputation) {
  for (const char* score : kScores) {
    SelfAttention attention(
        std::string(score) +
        "dropout: 0.3 selection { moba { block_size: 2 top_k: 2 } }");
    attention.tape().set_training(true);
    attention.Begin(140);
    const std::vector<float> expected = attention.Backward(attention.Attend());
    attention.Begin(140);
    const Var<float> inputs[] = {attention.inputs().score.queries,
                                 attention.inputs().score.keys,
                                 attention.inputs().values};
    const Var<float> context = Recompute(
        attention.tape(), absl::MakeConstSpan(inputs),
        [&attention](absl::Span<const Var<float>> in) {
          AttendInputs<float> now = attention.inputs();
          now.score.queries = in[0];
          now.score.keys = in[1];
          now.values = in[2];
          return attention.layer().Attend(attention.forward(), now).context;
        });
    EXPECT_THAT(attention.Backward(context), ElementsAreArray(expected))
        << score;
  }
}

TEST(AttendSelectionTest, AFaultFinderFindsNoFault) {
  for (const char* score : kScores) {
    SelfAttention attention(std::string(score) +
                            "position_encoding { alibi {} } selection { moba { "
                            "block_size: 2 top_k: 2 } }");
    FaultFinder<float> finder(attention.tape());
    attention.Begin(20);
    attention.Backward(attention.Attend());
    EXPECT_EQ(finder.fault(), "") << score;
  }
}

}  // namespace
}  // namespace regard
