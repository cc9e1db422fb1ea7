#include "attention/latent.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kWidth = 6;

AttentionRegistry BuiltIn() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

MultiHead Parse(const std::string& text) {
  MultiHead config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// Returns the notes if `notes` is true, otherwise the problems as "path:
// message".
std::vector<std::string> ProblemsOf(
    const std::string& config,
    const MultiHeadInputWidths& widths = {kWidth, kWidth, kWidth},
    bool notes = false) {
  ConfigProblems problems;
  ValidateMultiHead(BuiltIn(), Parse(config), widths, problems);
  if (notes) return {problems.notes().begin(), problems.notes().end()};
  std::vector<std::string> texts;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    texts.push_back(absl::StrCat(problem.path, ": ", problem.message));
  }
  return texts;
}

// Causal self-attention of 2 examples, with gradients of x and of all
// parameters.
template <typename T>
struct Layer {
  explicit Layer(const std::string& config)
      : scorers(BuiltIn()),
        layer(scorers, Parse(config), store.Root(), {kWidth, kWidth, kWidth}) {
    EXPECT_THAT(ProblemsOf(config), IsEmpty()) << config;
    store.Finalize(/*seed=*/3);
    gradients = std::make_unique<GradientSlab<T>>(store);
    forward = std::make_unique<Forward<T>>(tape, store, gradients.get());
  }

  absl::Span<T> value(const std::string& name) {
    return store.value(*store.FindByName(name));
  }
  std::vector<T> gradient(const std::string& name) {
    const auto span =
        store.Segment(gradients->values(), *store.FindByName(name));
    return {span.begin(), span.end()};
  }

  // Returns the output. Positions that `lengths` masks contain NaN.
  std::vector<T> Run(int64_t time = 5, Hook<T>* hook = nullptr,
                     absl::Span<const int32_t> lengths = {}) {
    std::fill(gradients->values().begin(), gradients->values().end(), T(0));
    forward->BeginStep();
    forward->set_hook(hook);
    x_numbers.resize(static_cast<size_t>(2 * time * kWidth));
    for (size_t i = 0; i < x_numbers.size(); ++i) {
      const auto n = static_cast<int64_t>(i) / kWidth;
      x_numbers[i] = !lengths.empty() && n % time >= lengths[n / time]
                         ? std::numeric_limits<T>::quiet_NaN()
                         : static_cast<T>(std::sin(static_cast<double>(i * i)));
    }
    x_gradient.assign(x_numbers.size(), T(0));
    const Var<T> x =
        tape.Leaf(x_numbers.data(), x_gradient.data(), {2, time, kWidth});
    const Var<T> y =
        layer(*forward, x, layer.Prepare(*forward, x, x),
              {.mask = {.key_lengths = lengths, .causal = lengths.empty()}});
    std::vector<T> output(y.span().begin(), y.span().end());
    y.grad_ref().AddEach([](int64_t i) {
      return static_cast<T>(std::cos(static_cast<double>(i)));
    });
    forward->Backward({}, {});
    forward->set_hook(nullptr);
    return output;
  }

  AttentionRegistry scorers;
  ParameterStore<T> store;
  MultiHeadAttention<T> layer;
  std::unique_ptr<GradientSlab<T>> gradients;
  Tape<T> tape;
  std::unique_ptr<Forward<T>> forward;
  std::vector<T> x_numbers, x_gradient;
};

template <typename T>
void ExpectNear(absl::Span<const T> got, absl::Span<const T> want,
                double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const T number : want) {
    largest = std::max<double>(largest, std::abs(number));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * largest)
        << what << ", element " << i;
  }
}

// Fields of a MultiHead, except the form and the attention.
constexpr const char* kFields[] = {
    "heads: 2 latent { rank: 4",
    "heads: 2 latent { rank: 3 rotary_width: 0",
    "heads: 3 head_width: 5 value_width: 4 latent { rank: 7 rotary_width: 4 "
    "query_rank: 5",
    "heads: 1 head_width: 1 bias: false latent { rank: 1 rotary_width: 2 "
    "norm: false rotary_base: 20",
    "heads: 4 head_width: 4 value_width: 3 head_output { differential {} } "
    "latent { rank: 5",
    "heads: 2 head_width: 4 head_output { gate {} } latent { query_rank: 1 "
    "epsilon: 0.1",
};
constexpr const char* kAttentions[] = {
    "scaled_dot {}",
    "dot { scale { value: 0.3 learned: false } } sink {} window: 2",
    "scaled_dot {} position_encoding { alibi {} }",
    "scaled_dot {} map_before { soft_cap { cap: 1 } } block: 2",
    "dot {} normalizer { entmax15 {} }",
    "dot {} normalizer { sigmoid {} } position_encoding { relative_buckets { "
    "buckets: 4 } }",
};

std::string Config(const std::string& fields, const char* form,
                   const std::string& attention) {
  return absl::StrCat(fields, " form: ", form, " } attention { ", attention,
                      " }");
}

// Compares the two forms, without a hook and with a hook that requests the
// weights and their gradients.
template <typename T>
void ExpectEqualForms(double tolerance) {
  for (const char* fields : kFields) {
    for (const char* attention : kAttentions) {
      Layer<T> one(Config(fields, "MATERIALISED", attention));
      Layer<T> other(Config(fields, "ABSORBED", attention));
      ASSERT_EQ(one.store.num_elements(), other.store.num_elements());
      for (const int64_t time : {1, 5, 0}) {
        for (const bool hooks : {false, true}) {
          const std::string what =
              absl::StrCat(fields, " ", attention, ", ", time, " positions, ",
                           hooks ? "hooked" : "not hooked");
          CapturingHook<T> hook("attention/weights", /*gradients=*/true);
          Hook<T>* const used = hooks ? &hook : nullptr;
          const std::vector<T> want = one.Run(time, used);
          CapturingHook<T> other_hook("attention/weights", /*gradients=*/true);
          ExpectNear<T>(other.Run(time, hooks ? &other_hook : nullptr), want,
                        tolerance, what);
          ExpectNear<T>(other.x_gradient, one.x_gradient, tolerance,
                        absl::StrCat(what, ", gradient of x"));
          for (const ParameterInfo& info : one.store.parameters()) {
            ExpectNear<T>(other.gradient(info.name), one.gradient(info.name),
                          tolerance,
                          absl::StrCat(what, ", gradient of ", info.name));
          }
        }
      }
    }
  }
}

TEST(LatentTest, BothFormsAreEqualInDouble) { ExpectEqualForms<double>(1e-10); }

TEST(LatentTest, BothFormsAreEqualInFloat) { ExpectEqualForms<float>(1e-6); }

// The two forms must also be equal if queries and keys span several blocks of
// the kernel.
TEST(LatentTest, BothFormsAreEqualAtLengthsOfSeveralBlocks) {
  const std::string fields = "heads: 2 latent { rank: 4 rotary_width: 2";
  Layer<double> one(Config(fields, "MATERIALISED", "scaled_dot {}"));
  Layer<double> other(Config(fields, "ABSORBED", "scaled_dot {}"));
  const std::vector<double> want = one.Run(300);
  ExpectNear<double>(other.Run(300), want, 1e-10, "output");
  ExpectNear<double>(other.x_gradient, one.x_gradient, 1e-10, "gradient of x");
}

// There are two positions of width 2, and one head of width 1. The latent has
// one element. The rotary part has two elements, one of which is 0 before the
// rotation. Position j has the key [2 x_j0; x_j1 (cos j, sin j)] and the value
// 3 x_j0. Position i has the query [x_i0; x_i1 (cos i, sin i)].
TEST(LatentTest, ValuesAreAsComputedByHand) {
  for (const char* form : {"MATERIALISED", "ABSORBED"}) {
    const AttentionRegistry scorers = BuiltIn();
    const MultiHead config = Parse(
        absl::StrCat("heads: 1 head_width: 1 bias: false latent { rank: 1 "
                     "rotary_width: 2 norm: false form: ",
                     form, " } attention { dot {} }"));
    ParameterStore<double> store;
    const MultiHeadAttention<double> layer(scorers, config, store.Root(),
                                           {2, 2, 2});
    store.Finalize(1);
    for (const auto& [name, shape, numbers] :
         {std::tuple("query.weight", Shape({3, 2}),
                     std::vector<double>{1, 0, 0, 1, 0, 0}),
          std::tuple("latent.weight", Shape({3, 2}),
                     std::vector<double>{1, 0, 0, 1, 0, 0}),
          std::tuple("key.weight", Shape({1, 1}), std::vector<double>{2}),
          std::tuple("value.weight", Shape({1, 1}), std::vector<double>{3}),
          std::tuple("output.weight", Shape({2, 1}),
                     std::vector<double>{1, -1})}) {
      const Parameter<double> index = *store.FindByName(name);
      ASSERT_EQ(store.info(index).shape, shape) << name;
      std::copy(numbers.begin(), numbers.end(), store.value(index).begin());
    }
    Tape<double> tape;
    Forward<double> forward(tape, store, nullptr);
    forward.BeginStep();
    const Var<double> x = tape.Input({1, 2, 2}, {0.5, 1, 0.25, 2});
    const Var<double> y =
        layer(forward, x, layer.Prepare(forward, x, x), {.mask = {}});
    const double scores[2][2] = {{0.5 * 1 + 1, 0.5 * 0.5 + 2 * std::cos(1)},
                                 {0.25 * 1 + 2 * std::cos(1), 0.25 * 0.5 + 4}};
    for (int i = 0; i < 2; ++i) {
      const double weight = 1 / (1 + std::exp(scores[i][1] - scores[i][0]));
      const double context = weight * 1.5 + (1 - weight) * 0.75;
      EXPECT_NEAR(y.at(i, 0), context, 1e-12) << form;
      EXPECT_NEAR(y.at(i, 1), -context, 1e-12) << form;
    }
  }
}

// The mean square of the latent [3, 4] is 12.5.
TEST(LatentTest, TheNormDividesTheLatentByItsRootMeanSquare) {
  Layer<double> layer(
      "heads: 1 head_width: 2 bias: false latent { rank: 2 rotary_width: 2 "
      "epsilon: 1e-30 } attention { dot {} }");
  const auto down = layer.value("latent.weight");
  std::fill(down.begin(), down.end(), 0.0);
  down[0] = down[kWidth + 1] = down[2 * kWidth + 2] = 1;
  const auto gain = layer.value("latent_norm.weight");
  ASSERT_EQ(gain.size(), 2u);
  gain[1] = 2;
  layer.forward->BeginStep();
  const Var<double> x = layer.tape.Input({1, 1, kWidth}, {3, 4, 7, 0, 0, 0});
  const PreparedSource<double> source =
      layer.layer.Prepare(*layer.forward, x, x);
  EXPECT_NEAR(source.values.data()[0], 3 / std::sqrt(12.5), 1e-12);
  EXPECT_NEAR(source.values.data()[1], 2 * 4 / std::sqrt(12.5), 1e-12);
  EXPECT_THAT(source.keys.span(), ElementsAre(7, 0));
}

// The latent is x itself. Outputs and gradients of the projections must then be
// bit-identical to plain attention. Small differences are permitted in the
// gradient of x and in the absorbed form, which add or multiply in another
// order.
TEST(LatentTest, AnIdentityLatentIsPlainAttention) {
  for (const char* attention :
       {"scaled_dot {}", "additive { width: 3 }",
        "gaussian {} normalizer { sparsemax {} }",
        "cosine {} sink {} position_encoding { alibi {} }",
        "scaled_dot {} map_after { soft_cap { cap: 0.5 } }"}) {
    for (const char* form : {"MATERIALISED", "ABSORBED"}) {
      const bool absorbed = form[0] == 'A';
      if (absorbed && std::string(attention).find("scaled_dot") != 0) continue;
      const std::string fields = absl::StrCat(
          "heads: 2 head_width: 4 value_width: 3 bias: false "
          "attention { ",
          attention, " } ");
      Layer<float> plain(fields);
      Layer<float> latent(absl::StrCat(
          fields, "latent { rank: 6 rotary_width: 0 norm: false form: ", form,
          " }"));
      for (const ParameterInfo& info : plain.store.parameters()) {
        const auto from = plain.value(info.name);
        ASSERT_EQ(latent.store.info(*latent.store.FindByName(info.name)).shape,
                  info.shape);
        std::copy(from.begin(), from.end(), latent.value(info.name).begin());
      }
      const auto identity = latent.value("latent.weight");
      for (size_t i = 0; i < identity.size(); ++i) {
        identity[i] = i % (kWidth + 1) == 0 ? 1.f : 0.f;
      }
      const std::vector<float> want = plain.Run();
      const std::string what = absl::StrCat(attention, " ", form);
      ExpectNear<float>(latent.Run(), want, absorbed ? 1e-6 : 0, what);
      ExpectNear<float>(latent.x_gradient, plain.x_gradient, 1e-6, what);
      for (const ParameterInfo& info : plain.store.parameters()) {
        ExpectNear<float>(latent.gradient(info.name), plain.gradient(info.name),
                          absorbed ? 1e-6 : 0,
                          absl::StrCat(what, ", ", info.name));
      }
    }
  }
}

TEST(LatentTest, ShapesFollowFromTheWidths) {
  Layer<float> layer(
      "heads: 3 head_width: 4 value_width: 2 latent { rank: 5 rotary_width: 2 "
      "query_rank: 7 } attention { dot {} }");
  std::vector<std::string> shapes;
  for (const ParameterInfo& info : layer.store.parameters()) {
    shapes.push_back(absl::StrCat(info.name, " ", info.shape.ToString()));
  }
  std::sort(shapes.begin(), shapes.end());
  EXPECT_THAT(
      shapes,
      ElementsAre("key.weight [12, 5]", "latent.bias [7]",
                  "latent.weight [7, 6]", "latent_norm.weight [5]",
                  "output.bias [6]", "output.weight [6, 6]",
                  "query.weight [18, 7]", "query_latent.bias [7]",
                  "query_latent.weight [7, 6]", "query_latent_norm.weight [7]",
                  "value.weight [6, 5]"));
}

// The heads have the widths 64, 6 and 1.
TEST(LatentTest, RankAndRotaryWidthFollowFromTheWidths) {
  const auto shape_of = [](const char* fields, int64_t width) {
    ParameterStore<float> store;
    const MultiHeadAttention<float> layer(
        BuiltIn(), Parse(absl::StrCat(fields, " attention { dot {} }")),
        store.Root(), {width, width, width});
    return store.info(*store.FindByName("latent.weight")).shape;
  };
  EXPECT_EQ(shape_of("latent {}", 64 * 8), Shape({4 * 64 + 32, 64 * 8}));
  EXPECT_EQ(shape_of("heads: 2 latent {}", 12), Shape({6 + 2, 12}));
  EXPECT_EQ(shape_of("heads: 1 latent {}", 1), Shape({1, 1}));
}

// A cache must only contain latents and rotary parts.
TEST(LatentTest, ASourceStoresOnlyLatentsAndRotaryParts) {
  for (const char* form : {"MATERIALISED", "ABSORBED"}) {
    for (const int64_t rotary : {0, 4}) {
      Layer<float> layer(absl::StrCat(
          "heads: 6 head_width: 32 latent { rank: 3 rotary_width: ", rotary,
          " form: ", form, " } attention { scaled_dot {} }"));
      layer.forward->BeginStep();
      const Var<float> x = layer.tape.Full({2, 5, kWidth}, 0.5f);
      const PreparedSource<float> source =
          layer.layer.Prepare(*layer.forward, x, x);
      EXPECT_EQ(source.keys.size() + source.values.size(),
                2 * 5 * (3 + rotary));
    }
  }
}

TEST(LatentTest, MaskedPositionsReachNoOutput) {
  const std::vector<int32_t> lengths = {3, 1};
  for (const char* form : {"MATERIALISED", "ABSORBED"}) {
    for (const char* attention :
         {"scaled_dot {}", "scaled_dot {} map_before { soft_cap {} }"}) {
      Layer<float> layer(Config(kFields[0], form, attention));
      const std::vector<float> output = layer.Run(4, nullptr, lengths);
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < lengths[i] * kWidth; ++j) {
          EXPECT_TRUE(std::isfinite(output[i * 4 * kWidth + j]))
              << form << " " << attention << " " << j;
        }
      }
    }
  }
}

TEST(LatentTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "this build does not count";
  for (const char* form : {"MATERIALISED", "ABSORBED"}) {
    Layer<float> layer(Config(kFields[2], form, "scaled_dot {}"));
    const auto step = [&] {
      layer.forward->BeginStep();
      const Var<float> x = layer.tape.Full({2, 5, kWidth}, 0.5f);
      const Var<float> y =
          layer.layer(*layer.forward, x,
                      layer.layer.Prepare(*layer.forward, x, x), {.mask = {}});
      y.grad_ref().AddEach([](int64_t) { return 1.f; });
      layer.forward->Backward({}, {});
    };
    for (int i = 0; i < 3; ++i) step();
    const int64_t before = AllocationCount();
    step();
    EXPECT_EQ(AllocationCount(), before) << form;
  }
}

TEST(ValidateLatentTest, LocatesInvalidCombinations) {
  const std::string layer = "heads: 2 head_width: 4 ";
  const std::string dot = " attention { scaled_dot {} }";
  EXPECT_THAT(
      ProblemsOf(layer + "latent {} query_key_norm {}" + dot),
      ElementsAre(HasSubstr("query_key_norm: cannot be combined with")));
  EXPECT_THAT(
      ProblemsOf(layer + "latent {} query_key_norm { kind: NONE }" + dot),
      IsEmpty());
  EXPECT_THAT(ProblemsOf(layer + "latent {} key_heads: 1" + dot),
              ElementsAre(HasSubstr("key_heads: cannot be combined with")));
  EXPECT_THAT(ProblemsOf(layer + "latent {} value_heads: 2" + dot),
              ElementsAre(HasSubstr("value_heads: cannot be combined with")));
  EXPECT_THAT(ProblemsOf(layer + "latent {}" + dot, {6, 6, 8}),
              ElementsAre("latent: requires keys and values of one input, but "
                          "their widths are 6 and 8"));
  const std::string rotary =
      " attention { scaled_dot {} position_encoding { rotary {} } }";
  for (const char* form : {"MATERIALISED", "ABSORBED"}) {
    EXPECT_THAT(
        ProblemsOf(absl::StrCat(layer, "latent { form: ", form, " }", rotary)),
        ElementsAre(HasSubstr("attention.position_encoding: must not change "
                              "keys if `latent` is set")));
  }
  for (const char* score : {"additive {}", "cosine {}", "scaled_bilinear {}",
                            "dot { scale { learned: true } }",
                            "formula { score: '(q . k) / sqrt(d)' }",
                            "formula { score: 'q . k + u . x_i' }"}) {
    EXPECT_THAT(
        ProblemsOf(absl::StrCat(layer, "latent {} attention { ", score, " }")),
        IsEmpty());
    EXPECT_THAT(
        ProblemsOf(absl::StrCat(layer, "latent { form: ABSORBED } attention { ",
                                score, " }")),
        ElementsAre(HasSubstr("latent.form: ABSORBED requires a score that is "
                              "a constant times q . k, such as scaled_dot {} "
                              "without a learned scale; with ")));
  }
}

TEST(ValidateLatentTest, PointsAtWrongNumbers) {
  const std::string layer =
      "heads: 4096 head_width: 4 attention { dot {} } latent ";
  EXPECT_THAT(ProblemsOf(layer + "{ rotary_width: 3 }"),
              ElementsAre("latent.rotary_width: must be even, because elements "
                          "are rotated in pairs; got 3"));
  EXPECT_THAT(ProblemsOf(layer + "{ rank: -1 }"),
              ElementsAre(HasSubstr("latent.rank: ")));
  EXPECT_THAT(ProblemsOf(layer + "{ rotary_width: 262140 }"), IsEmpty());
  EXPECT_THAT(ProblemsOf(layer + "{ rotary_width: 262142 }"),
              ElementsAre(HasSubstr("must be at most 2^30")));
  const auto notes = [&](const std::string& latent) {
    return ProblemsOf(layer + latent, {kWidth, kWidth, kWidth}, true);
  };
  EXPECT_THAT(notes("{ norm: false epsilon: 0.1 }"),
              ElementsAre("latent.epsilon: has no effect: `norm` is false"));
  EXPECT_THAT(notes("{ rotary_width: 0 rotary_base: 20 }"),
              ElementsAre(HasSubstr("latent.rotary_base: has no effect")));
  EXPECT_THAT(notes("{ epsilon: 0.1 rotary_base: 20 }"), IsEmpty());
}

TEST(LatentDeathTest, KeysAndValuesHaveOneInput) {
  Layer<float> layer("heads: 2 latent {} attention { dot {} }");
  layer.forward->BeginStep();
  const Var<float> x = layer.tape.Full({1, 2, kWidth}, 1);
  const Var<float> other = layer.tape.Full({1, 2, kWidth}, 1);
  EXPECT_DEATH(layer.layer.Prepare(*layer.forward, x, other),
               "latent keys and values have one input");
}

}  // namespace
}  // namespace regard
