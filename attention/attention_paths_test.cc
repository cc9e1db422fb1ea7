// Tests properties that every combination of score, position encoding,
// normalizer and mask must have, with and without fused kernels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "options/config_problems.h"

namespace regard {
namespace {

constexpr int64_t kHeads = 2;
constexpr int64_t kWidth = 4;

// Scores with and without an InnerForm, and with and without their own
// Prepare().
constexpr const char* kScores[] = {"dot {}", "scaled_dot {}",
                                   "additive { width: 3 }",
                                   "scaled_bilinear {}", "cosine {}"};
constexpr const char* kRest[] = {
    "",
    "window: 2",
    "position_encoding { rotary {} }",
    "position_encoding { rotary { style: INTERLEAVED width: 2 } }",
    "position_encoding { alibi {} }",
    "position_encoding { relative_buckets { buckets: 4 max_distance: 3 } }",
    "position_encoding { alibi {} } window: 3",
    "block: 2",
    "normalizer { sparsemax {} }",
    "normalizer { entmax15 {} }",
    "normalizer { sigmoid {} } position_encoding { alibi {} }",
    "normalizer { scalable_softmax { bias: 1 } } position_encoding { alibi {} "
    "} block: 2",
    "normalizer { scalable_softmax {} } sink {}",
    "normalizer { log_length { trained_length: 2 } }",
    "normalizer { relu_squared {} } window: 3",
    "map_before { top_k { keys: 2 } } block: 2",
    "map_before { talking_heads {} } map_after { talking_heads {} } sink {}"};

std::vector<std::string> Configs() {
  std::vector<std::string> configs;
  for (const std::string score : kScores) {
    for (const std::string rest : kRest) configs.push_back(score + " " + rest);
  }
  return configs;
}

// An AttentionLayer and its parameters.
template <typename T>
struct Layer {
  explicit Layer(const std::string& config) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    Attention attention;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention));
    const ScoreWidths widths = {
        .heads = kHeads, .query = kWidth, .key = kWidth};
    ConfigProblems problems;
    scorers.Validate(attention, widths, problems);
    EXPECT_TRUE(problems.ok()) << config;
    attender.emplace(scorers, attention, store.Root(), widths);
    store.Finalize(/*seed=*/1);
    for (size_t i = 0; i < store.values().size(); ++i) {
      store.values()[i] = static_cast<T>(std::sin(static_cast<double>(i)));
    }
  }

  // Queries begin at position 2, and keys at position 0.
  AttentionResult<T> Run(Forward<T>& forward, Var<T> queries, Var<T> keys,
                         Var<T> values, AttendInputs<T> inputs = {}) const {
    inputs.score.queries = queries;
    inputs.score.keys = attender->Prepare(forward, {.keys = keys});
    inputs.score.positions.first_query = 2;
    inputs.values = values;
    return attender->Attend(forward, inputs);
  }

  ParameterStore<T> store;
  std::optional<AttentionLayer<T>> attender;
};

template <typename T>
const Layer<T>& Get(const std::string& config) {
  static auto* const made =
      new std::map<std::string, std::unique_ptr<Layer<T>>>();
  std::unique_ptr<Layer<T>>& layer = (*made)[config];
  if (layer == nullptr) layer = std::make_unique<Layer<T>>(config);
  return *layer;
}

class NoDistanceBias : public Hook<double> {
 public:
  HookRequest Request(const std::string& site) override {
    return {.replacement = site == "attention/distance_bias"};
  }
  Var<double> Replace(Tape<double>& tape, const std::string&,
                      Var<double> value) override {
    EXPECT_EQ(value.shape(), Shape({1, kHeads, 1, 7}));
    return tape.Full(value.shape(), 0);
  }
};

// A hook replaces the bias of ALiBi by 0. The context must then equal the
// context without ALiBi, with the blocked kernel and on the row-by-row path.
TEST(AttentionPathsTest, AReplacedBiasOfDistancesTakesEffect) {
  for (const std::string rest : {"", " normalizer { sparsemax {} }"}) {
    const auto context = [&](const std::string& encoding, bool replaced) {
      const Layer<double>& layer =
          Get<double>("scaled_dot {}" + rest + encoding);
      Tape<double> tape;
      Forward<double> forward(tape, layer.store, nullptr);
      forward.BeginStep();
      NoDistanceBias hook;
      if (replaced) forward.set_hook(&hook);
      const auto input = [&](int64_t rows, double factor) {
        const Var<double> x = tape.Constant({1, kHeads, rows, kWidth});
        for (int64_t i = 0; i < x.size(); ++i) {
          x.data()[i] = std::sin(factor * static_cast<double>(i));
        }
        return x;
      };
      AttendInputs<double> fused;
      fused.context_only = true;
      const AttentionResult<double> attended =
          layer.Run(forward, input(3, 1), input(5, 2), input(5, 3), fused);
      return std::vector<double>(attended.context.span().begin(),
                                 attended.context.span().end());
    };
    const std::string alibi = " position_encoding { alibi {} }";
    EXPECT_EQ(context(alibi, true), context("", false));
    EXPECT_NE(context(alibi, false), context("", false));
  }
}

TEST(AttentionPathsTest, GradientsOfEveryCombination) {
  std::vector<GradientCase> cases;
  for (const std::string& config : Configs()) {
    // Sparsemax and top_k have no derivative where the set of nonzero weights
    // changes, and finite differences may cross such a point. The tests of
    // sparsemax and top_k check derivatives at other points.
    if (config.find("sparsemax") != std::string::npos) continue;
    if (config.find("top_k") != std::string::npos) continue;
    std::vector<TestInputSpec> inputs = {{{1, kHeads, 3, kWidth}},
                                         {{1, kHeads, 5, kWidth}},
                                         {{1, kHeads, 5, 2}}};
    for (const ParameterInfo& info : Get<double>(config).store.parameters()) {
      inputs.push_back({info.shape});
    }
    cases.push_back(MakeCase(
        "Attend", config, inputs,
        [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
          const Layer<T>& layer = Get<T>(config);
          // Keeps `forward` alive, because the backward pass computes blocks
          // with it.
          static auto* const kept =
              new std::vector<std::unique_ptr<Forward<T>>>;
          kept->push_back(
              std::make_unique<Forward<T>>(tape, layer.store, in.subspan(3)));
          Forward<T>& forward = *kept->back();
          AttendInputs<T> causal;
          causal.score.mask.causal = true;
          causal.context_only = true;
          return layer.Run(forward, in[0], in[1], in[2], causal).context;
        }));
  }
  CheckGradients(cases);
}

template <typename T>
Var<T> Wave(Tape<T>& tape, const Shape& shape, double salt) {
  Var<T> x = tape.Input(shape, std::vector<T>(shape.size(), T(0)));
  for (int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<T>(std::sin(1.7 * static_cast<double>(i) + salt));
  }
  return x;
}

TEST(AttentionPathsTest, OtherExamplesChangeNoBit) {
  for (const std::string& config : Configs()) {
    for (const bool context_only : {false, true}) {
      const Layer<float>& layer = Get<float>(config);
      Tape<float> tape;
      Forward<float> forward(tape, layer.store, nullptr);
      forward.BeginStep();
      const Var<float> q = Wave(tape, {3, kHeads, 3, kWidth}, 0);
      const Var<float> k = Wave(tape, {3, kHeads, 5, kWidth}, 1);
      const Var<float> v = Wave(tape, {3, kHeads, 5, 2}, 2);
      const std::vector<int32_t> lengths = {5, 2, 4};
      const auto last = [&](Var<float> x) {
        const int64_t n = x.size() / 3;
        return tape.Constant(x.shape().With(0, 1), x.span().subspan(2 * n));
      };
      AttendInputs<float> inputs;
      inputs.context_only = context_only;
      inputs.score.mask = {.key_lengths = lengths, .causal = true};
      const Var<float> all = layer.Run(forward, q, k, v, inputs).context;
      inputs.score.mask.key_lengths = {&lengths[2], 1};
      const Var<float> alone =
          layer.Run(forward, last(q), last(k), last(v), inputs).context;
      EXPECT_EQ(all.span().subspan(2 * alone.size()), alone.span()) << config;
    }
  }
}

// While the tape does not record, the layer computes causal blocks, which skip
// later keys. The context must be bit-identical to the context of a recorded
// call.
TEST(AttentionPathsTest, CausalBlocksHaveTheBitsOfWholeCalls) {
  constexpr int64_t kTime = 259;
  for (const std::string& config : Configs()) {
    const Layer<float>& layer = Get<float>(config);
    Tape<float> tape;
    Forward<float> forward(tape, layer.store, nullptr);
    forward.BeginStep();
    const Var<float> q = Wave(tape, {2, kHeads, kTime, kWidth}, 0);
    const Var<float> k = Wave(tape, {2, kHeads, kTime, kWidth}, 1);
    const Var<float> v = Wave(tape, {2, kHeads, kTime, 2}, 2);
    const std::vector<int32_t> lengths = {kTime, 200};
    AttendInputs<float> inputs;
    inputs.context_only = true;
    inputs.score.mask = {.key_lengths = lengths, .causal = true};
    const Var<float> whole = layer.Run(forward, q, k, v, inputs).context;
    tape.set_recording(false);
    const Var<float> blocks = layer.Run(forward, q, k, v, inputs).context;
    EXPECT_EQ(whole.span(), blocks.span()) << config;
  }
}

// Dropout must drop the same weights in calls that return the weights and in
// calls that compute only the context.
TEST(AttentionPathsTest, ContextsAgreeWithContextsFromWeights) {
  for (const std::string& config : Configs()) {
    const Layer<double> layer(config + " dropout: 0.25");
    Tape<double> tape;
    tape.set_training(true);
    Forward<double> forward(tape, layer.store, nullptr);
    forward.BeginStep();
    const Var<double> q = Wave(tape, {2, kHeads, 3, kWidth}, 0);
    const Var<double> k = Wave(tape, {2, kHeads, 5, kWidth}, 1);
    const Var<double> v = Wave(tape, {2, kHeads, 5, 2}, 2);
    const auto context = [&](bool context_only) {
      AttendInputs<double> inputs;
      inputs.context_only = context_only;
      inputs.score.mask.causal = true;
      return layer.Run(forward, q, k, v, inputs).context;
    };
    const Var<double> expected = context(false);
    const Var<double> got = context(true);
    for (int64_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got.data()[i], expected.data()[i], 1e-13) << config;
    }
  }
}

// In each case, one key and its value are NaN. Queries that do not see the key
// must have the same context as if the key and its value were finite.
TEST(AttentionPathsTest, MaskedNaNReachesNoContextOnAnyPath) {
  constexpr int64_t kQueries = 3;
  constexpr int64_t kKeys = 5;
  const std::vector<int32_t> lengths = {3};
  const std::vector<int32_t> per_query = {1, 5, 0};
  const std::vector<uint8_t> dense = {1, 0, 1, 1, 0, 0, 1, 1,
                                      0, 1, 1, 1, 0, 0, 1};
  const std::vector<Mask> masks = {{.key_lengths = lengths},
                                   {.key_lengths = per_query},
                                   {.causal = true},
                                   {.window = 2},
                                   {.key_lengths = lengths, .window = 2},
                                   {.dense = dense}};
  struct Path {
    bool context_only;
    bool composed;  // whether a hook requests the gradients of the weights
    bool training;
  };
  for (const std::string& config : Configs()) {
    const Layer<float> layer(config + " dropout: 0.25");
    if (config.find("window") != std::string::npos) continue;
    for (const Mask& mask : masks) {
      for (const Path& path : {Path{true, false, false},
                               {false, false, false},
                               {true, true, false},
                               {true, false, true}}) {
        for (int64_t bad = 0; bad < kKeys; ++bad) {
          Tape<float> tape;
          tape.set_training(path.training);
          Forward<float> forward(tape, layer.store, nullptr);
          forward.BeginStep();
          const Var<float> q = Wave(tape, {1, kHeads, kQueries, kWidth}, 0);
          Var<float> k = Wave(tape, {1, kHeads, kKeys, kWidth}, 1);
          Var<float> v = Wave(tape, {1, kHeads, kKeys, 2}, 2);
          AttendInputs<float> inputs;
          inputs.score.mask = mask;
          inputs.context_only = path.context_only;
          CapturingHook<float> hook("attention/weights", /*gradients=*/true);
          if (path.composed) forward.set_hook(&hook);
          const Var<float> want = layer.Run(forward, q, k, v, inputs).context;
          for (int64_t h = 0; h < kHeads; ++h) {
            std::fill_n(k.data() + (h * kKeys + bad) * kWidth, kWidth, NAN);
            std::fill_n(v.data() + (h * kKeys + bad) * 2, 2, NAN);
          }
          const Var<float> got = layer.Run(forward, q, k, v, inputs).context;
          const MaskReader visible(mask, {.first_query = 2}, 1, kQueries,
                                   kKeys);
          for (int64_t row = 0; row < kHeads * kQueries; ++row) {
            if (visible(0, row % kQueries)(bad)) continue;
            for (int64_t j = 0; j < 2; ++j) {
              ASSERT_EQ(got.data()[row * 2 + j], want.data()[row * 2 + j])
                  << config << ", NaN at key " << bad << ", row " << row
                  << ", fused " << path.context_only << ", composed "
                  << path.composed << ", training " << path.training;
            }
          }
        }
      }
    }
  }
}

// Queries that are alternatives at one position must have the same contexts as
// separate queries at that position.
TEST(AttentionPathsTest, AlternativesEqualSingleQueries) {
  for (const std::string& config : Configs()) {
    const Layer<double>& layer = Get<double>(config);
    Tape<double> tape;
    Forward<double> forward(tape, layer.store, nullptr);
    forward.BeginStep();
    const Var<double> q = Wave(tape, {1, 1, 3, kWidth}, 0);
    const Var<double> k = Wave(tape, {1, kHeads, 5, kWidth}, 1);
    AttendInputs<double> inputs;
    inputs.score.keys = layer.attender->Prepare(forward, {.keys = k});
    inputs.values = Wave(tape, {1, kHeads, 5, 2}, 2);
    const auto run = [&](int64_t first, int64_t count, int64_t step) {
      Var<double> queries = tape.Constant({1, kHeads, count, kWidth});
      for (int64_t h = 0; h < kHeads; ++h) {
        std::copy_n(q.data() + first * kWidth, count * kWidth,
                    queries.data() + h * count * kWidth);
      }
      inputs.score.queries = queries;
      inputs.score.positions = {.first_query = 3, .query_step = step};
      return layer.attender->Attend(forward, inputs).context;
    };
    const Var<double> together = run(0, 3, /*step=*/0);
    for (int64_t i = 0; i < 3; ++i) {
      const Var<double> alone = run(i, 1, /*step=*/1);
      for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t j = 0; j < 2; ++j) {
          EXPECT_NEAR(together.data()[(h * 3 + i) * 2 + j],
                      alone.data()[h * 2 + j], 1e-14)
              << config;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regard
