#include "language/bert.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/bert.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "options/config_problems.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_head.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr char kSmall[] =
    "transformer { width: 6 layers: 2 attention { heads: 2 } feed_forward { "
    "hidden: 5 } position_embedding { longest: 8 } } types: 3";

int64_t CountOf(const std::string& config, int64_t vocabulary) {
  ParameterStore<float> store;
  const Bert<float> bert(Parse<BertConfig>(config), BuiltInScorers(),
                         vocabulary, store.Root());
  return store.num_elements();
}

TEST(BertTest, HasThePublishedSizes) {
  const std::string mini =
      "transformer { width: 384 layers: 6 feed_forward { hidden: 1536 } } ";
  EXPECT_EQ(CountOf(mini, 30522), 22'713'216);
  EXPECT_EQ(CountOf(mini + "pooler: false", 30522), 22'565'376);
  // A layer has 7,087,872 parameters.
  EXPECT_EQ(CountOf("", 30522) - CountOf("transformer { layers: 11 }", 30522),
            7'087'872);
  EXPECT_EQ(CountOf("", 30522), 109'482'240);
}

TEST(BertTest, DefaultsMatchPublishedValues) {
  const TransformerConfig config = BertTransformer(
      Parse<BertConfig>("transformer { width: 8 dropout: 0.25 }"));
  EXPECT_EQ(config.width(), 8);
  EXPECT_EQ(config.dropout(), 0.25);
  EXPECT_EQ(config.layers(), 12);
  EXPECT_EQ(config.attention().heads(), 12);
  EXPECT_EQ(config.attention().attention().dropout(), 0.1);
  EXPECT_EQ(config.norm().epsilon(), 1e-12);
  EXPECT_EQ(config.norm_order(), TransformerConfig::POST);
  EXPECT_EQ(config.position_embedding().longest(), 512);
}

std::vector<std::string> ProblemsOf(const std::string& config) {
  ConfigProblems problems;
  ValidateBert(Parse<BertConfig>(config), BuiltInScorers(), problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  return paths;
}

TEST(BertTest, NamesWhatIsWrongWithAConfig) {
  EXPECT_THAT(ProblemsOf(kSmall), ElementsAre());
  EXPECT_THAT(ProblemsOf("types: 0 transformer { layers: 0 }"),
              ElementsAre("types", "transformer.layers"));
  EXPECT_THAT(ProblemsOf("transformer { width: 10 attention { heads: 3 } }"),
              ElementsAre("transformer.attention.heads"));
  EXPECT_THAT(ProblemsOf("transformer { cross_attention {} tied_embeddings: "
                         "SOURCE_TARGET_OUTPUT }"),
              ElementsAre("transformer.tied_embeddings"));
  EXPECT_THAT(ProblemsOf("transformer { feed_forward { none {} } }"),
              ElementsAre());
  EXPECT_THAT(ProblemsOf("transformer { feed_forward { none {} hidden: 5 } }"),
              ElementsAre());
}

template <typename T>
class SmallBert {
 public:
  explicit SmallBert(const std::string& more = "")
      : config_(ConfigOf(more)),
        bert_(config_, BuiltInScorers(), /*vocabulary=*/7, run_.store().Root()),
        head_(BertTransformer(config_), bert_.embedding(), kNoSpecialIds,
              run_.store().Root().Sub("head")) {}

  LayerTestHarness<T>& run() { return run_; }
  const Bert<T>& bert() const { return bert_; }
  const TransformerHead<T>& head() const { return head_; }

 private:
  static BertConfig ConfigOf(const std::string& more) {
    BertConfig config = Parse<BertConfig>(kSmall);
    config.MergeFrom(Parse<BertConfig>(more));
    return config;
  }

  LayerTestHarness<T> run_;
  BertConfig config_;
  Bert<T> bert_;
  TransformerHead<T> head_;
};

TEST(BertTest, Gradients) {
  SmallBert<double> small;
  const int32_t ids[] = {1, 2, 3, 4, 5, 6};
  const int32_t types[] = {0, 1, 2, 0, 0, 1};
  const int32_t lengths[] = {3, 2};
  CheckLayerGradients(
      small.run(), {{2}}, [&](Forward<double>& forward, auto inputs) {
        CapturingHook<double> hook("");
        hook.set_head_factors(inputs[0]);
        forward.set_hook(&hook);
        const Var<double> hidden = small.bert()(
            forward,
            {.size = 2, .ids = ids, .types = types, .lengths = lengths});
        const Var<double> pooled = small.bert().Pool(forward, hidden);
        const Var<double> logits = small.head().Logits(forward, pooled);
        forward.set_hook(nullptr);
        return logits;
      });
}

TEST(BertTest, RowsDoNotDependOnTheirBatch) {
  SmallBert<float> small;
  Forward<float>& forward = small.run().Begin();
  const int32_t alone[] = {5, 6, 1};
  const Var<float> one = small.bert()(forward, {.size = 1, .ids = alone});
  const int32_t ids[] = {1, 2, 3, 4, 5, 6, 1, 0, 5, 6, 0, 0};
  const int32_t lengths[] = {4, 3, 2};
  const Var<float> all =
      small.bert()(forward, {.size = 3, .ids = ids, .lengths = lengths});
  EXPECT_THAT(ValuesOf(one),
              ElementsAreArray(all.data() + 24, static_cast<size_t>(18)));
}

TEST(BertTest, MissingTypesAreTheFirstType) {
  SmallBert<float> small;
  Forward<float>& forward = small.run().Begin();
  const int32_t ids[] = {1, 2, 3};
  const int32_t types[] = {0, 0, 0};
  const int32_t others[] = {0, 2, 0};
  const auto hidden = [&](absl::Span<const int32_t> of) {
    return ValuesOf(
        small.bert()(forward, {.size = 1, .ids = ids, .types = of}));
  };
  EXPECT_EQ(hidden({}), hidden(types));
  EXPECT_NE(hidden({}), hidden(others));
}

TEST(BertTest, LossOfTheHeadMatchesItsLogits) {
  SmallBert<double> small;
  Forward<double>& forward = small.run().Begin();
  const Var<double> hidden = small.run().Input({3, 6});
  const Var<double> logits = small.head().Logits(forward, hidden);
  const int32_t targets[] = {6, 0, 3};
  double want = 0;
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 7; ++i) sum += std::exp(logits.data()[row * 7 + i]);
    want += std::log(sum) - logits.data()[row * 7 + targets[row]];
  }
  EXPECT_NEAR(small.head().Loss(forward, hidden, targets, 0).item(), want,
              1e-12);
}

TEST(BertTest, HasALongestPosition) {
  EXPECT_EQ(SmallBert<float>().bert().longest_position(), 8);
  const SmallBert<float> relative(
      "transformer { position_embedding { kind: NONE } attention { attention "
      "{ relative_dot { max_position: 5 } } } }");
  EXPECT_EQ(relative.bert().longest_position(), 5);
}

TEST(BertDeathTest, RejectsMissingPartsAndPositions) {
  SmallBert<float> small("pooler: false");
  Forward<float>& forward = small.run().Begin();
  EXPECT_FALSE(small.bert().has_pooler());
  EXPECT_DEATH(small.bert().Pool(forward, small.run().Input({1, 1, 6})),
               "there is no pooler");
  const int32_t ids[] = {1, 2, 3, 4, 5, 6, 1, 2, 3};
  EXPECT_DEATH(small.bert()(forward, {.size = 1, .ids = ids}),
               "positions 0 to 8 of 8");
  EXPECT_DEATH(small.bert()(forward, {.size = 2, .ids = ids}),
               "9 ids for 2 rows");
  EXPECT_DEATH(small.bert()(forward, {.size = 3, .ids = ids, .types = {0, 1}}),
               "2 vs. 9");
}

}  // namespace
}  // namespace regard
