// Tests explanations of scores in many kinds of Transformers.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/inspection/explanation.h"
#include "attention/inspection/residual_sources.h"
#include "attention/inspection/trace.h"
#include "attention/multi_head.h"
#include "attention/transformer/input_embedding.h"
#include "attention/transformer/stack.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<std::string> Names(const ScoreExplanation& explanation) {
  std::vector<std::string> names;
  for (const ScoreSource& of : explanation.sources) {
    names.push_back(of.Name());
  }
  return names;
}

// Returns the difference between the sum of the terms and the score, relative
// to the sum of the terms' magnitudes.
double ErrorOf(const ScoreExplanation& explanation) {
  double magnitude = 0;
  for (const double term : explanation.terms) magnitude += std::abs(term);
  EXPECT_GT(magnitude, 0);
  return std::abs(explanation.total - explanation.score) / magnitude;
}

std::vector<int32_t> Ids(int64_t count) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((3 * i + 1) % 5);
  return ids;
}

struct Case {
  const char* name;
  const char* config;
  std::vector<std::string> sources;  // names of the sources, except "biases"
  bool softmax = true;
};

constexpr char kToken[] = "decoder/token_embedding";
constexpr char kPosition[] = "decoder/position_embedding";
constexpr char kHead0[] = "decoder/layers[0]/self, head 0";
constexpr char kHead1[] = "decoder/layers[0]/self, head 1";
constexpr char kNetwork[] = "decoder/layers[0]/feed_forward";

const Case kCases[] = {
    {"pre",
     "layers: 2 attention { heads: 2 } feed_forward { hidden: 5 activation: "
     "GELU }",
     {kToken, kPosition, kHead0, kHead1, kNetwork}},
    {"post",
     "layers: 2 attention { heads: 2 } feed_forward { hidden: 5 } norm_order: "
     "POST embedding_norm: true position_embedding { kind: LEARNED longest: 9 "
     "}",
     {kToken, kPosition, kHead0, kHead1, kNetwork}},
    {"first_layer",
     "layers: 1 attention { heads: 2 } position_embedding { kind: NONE } "
     "norm_order: POST",
     {kToken}},
    {"rotary_rms",
     "layers: 2 attention { heads: 2 key_heads: 1 head_width: 4 bias: false "
     "query_key_norm "
     "{} attention { position_encoding { rotary {} } } } norm { kind: RMS_NORM "
     "} position_embedding { kind: NONE } feed_forward { none {} }",
     {kToken, kHead0, kHead1}},
    {"alibi",
     "layers: 2 attention { heads: 2 query_key_norm { kind: LAYER_NORM "
     "all_heads: true } attention { position_encoding { alibi {} } } "
     "head_output { gate {} } } feed_forward { hidden: 5 } norm_order: POST",
     {kToken, kPosition, kHead0, kHead1, kNetwork}},
    {"buckets",
     "layers: 2 attention { heads: 2 attention { bilinear {} position_encoding "
     "{ relative_buckets {} } } head_output { norm {} } } feed_forward { "
     "hidden: 5 activation: SWIGLU chunk: 2 }",
     {kToken, kPosition, kHead0, kHead1, kNetwork}},
    {"forget",
     "layers: 2 attention { heads: 2 attention { forget {} map_before { "
     "talking_heads {} } } head_output { differential {} } } feed_forward { "
     "none {} }",
     {kToken, kPosition, kHead0, kHead1}},
    {"relative_dot",
     "layers: 2 attention { heads: 2 attention { relative_dot { max_position: "
     "9 terms: RELATIVE_KEY_QUERY } normalizer { sparsemax {} } sink {} } } "
     "feed_forward { hidden: 5 }",
     {kToken, kPosition, kHead0, kHead1, kNetwork},
     /*softmax=*/false},
    {"formula",
     "layers: 2 attention { heads: 2 attention { formula { score: \"q . W k + "
     "u . k + v . q + b * (i - j)\" } } } feed_forward { none {} }",
     {kToken, kPosition, kHead0, kHead1}},
    {"latent",
     "layers: 2 attention { heads: 2 latent { rank: 3 rotary_width: 2 "
     "query_rank: 3 } } feed_forward { none {} }",
     {kToken, kPosition, kHead0, kHead1}},
    {"mixer",
     "layers: 2 attention { heads: 2 } pattern { mixer { linear_attention { "
     "heads: 2 decay: CHANNEL } } } pattern {} feed_forward { none {} }",
     {kToken, kPosition, kHead0, kHead1}},
};

// A causal stack of width 6 with a vocabulary of five entries.
template <typename T>
class Model {
 public:
  static constexpr int64_t kTime = 7;

  explicit Model(const std::string& config, int64_t width = 6)
      : config_(Parse<TransformerConfig>(
            absl::StrCat("width: ", width, " ", config))),
        embedding_(config_, 5, run_.store().Root().Sub("tokens")),
        stack_(BuiltInScorers(), config_, 0, run_.store().Root()) {}

  Forward<T>& forward() { return run_.Begin(); }

  TraceablePrediction<T> Trace() {
    TraceablePrediction<T> traced;
    traced.pass = [this](Forward<T>& forward) {
      const NameScope<T> scope(forward.tape(), "decoder");
      const Var<T> x = embedding_(forward, Ids(kTime), 1, 0);
      stack_(forward, x, {.mask = {.causal = true}});
      return Var<T>();
    };
    return traced;
  }

 private:
  LayerTestHarness<T> run_;
  const TransformerConfig config_;
  InputEmbedding<T> embedding_;
  TransformerStack<T> stack_;
};

class ExplanationTest : public ::testing::TestWithParam<Case> {
 protected:
  // Calls f(head, query, key) for some scores of the last layer.
  template <typename F>
  static void ForSome(F f) {
    for (const int64_t head : {0, 1}) {
      for (const auto& [query, key] :
           {std::pair(0, 0), {4, 4}, {6, 2}, {5, 0}}) {
        f(head, query, key);
      }
    }
  }

  static std::string Site() {
    return std::string(GetParam().config).find("layers: 1") == 0
               ? "*layers[0]/self*"
               : "*layers[1]/self*";
  }
};

INSTANTIATE_TEST_SUITE_P(Transformers, ExplanationTest,
                         ::testing::ValuesIn(kCases),
                         [](const auto& of) { return of.param.name; });

TEST_P(ExplanationTest, TermsSumToTheScore) {
  Model<double> model(GetParam().config);
  Forward<double>& forward = model.forward();
  const TraceablePrediction<double> traced = model.Trace();
  ForSome([&](int64_t head, int64_t query, int64_t key) {
    const auto explanation =
        Explain(forward, traced,
                {.site = Site(), .head = head, .query = query, .key = key});
    ASSERT_THAT(explanation.status(), testing::IsOk());
    EXPECT_LE(ErrorOf(*explanation), 1e-14);
    std::vector<std::string> names = Names(*explanation);
    ASSERT_EQ(names.back(), "biases");
    names.pop_back();
    EXPECT_THAT(names, ElementsAreArray(GetParam().sources));
  });
}

TEST_P(ExplanationTest, InFloatTheyAreExactToAMillionth) {
  Model<float> model(GetParam().config);
  Forward<float>& forward = model.forward();
  const TraceablePrediction<float> traced = model.Trace();
  double worst = 0;
  ForSome([&](int64_t head, int64_t query, int64_t key) {
    const auto explanation =
        Explain(forward, traced,
                {.site = Site(), .head = head, .query = query, .key = key});
    ASSERT_THAT(explanation.status(), testing::IsOk());
    worst = std::max(worst, ErrorOf(*explanation));
  });
  EXPECT_LE(worst, 1e-6);
  std::cout << GetParam().name << ": at most " << worst
            << " of the terms' magnitudes\n";
}

TEST(DeepExplanationTest, InFloatTermsAreExactToAMillionth) {
  for (const int64_t width : {8, 64}) {
    for (const char* order : {"PRE", "POST"}) {
      Model<float> model(
          absl::StrCat("layers: 12 attention { heads: 4 } feed_forward { "
                       "hidden: 99 activation: GELU } norm_order: ",
                       order),
          width);
      Forward<float>& forward = model.forward();
      double worst = 0;
      for (int64_t head = 0; head < 4; ++head) {
        const auto explanation =
            Explain(forward, model.Trace(),
                    {.site = "*layers[11]*", .head = head, .key = 2 + head});
        ASSERT_THAT(explanation.status(), testing::IsOk());
        EXPECT_EQ(explanation->sources.back().Name(), "biases");
        worst = std::max(worst, ErrorOf(*explanation));
      }
      EXPECT_LE(worst, 1e-6);
      std::cout << "width " << width << " " << order << ": at most " << worst
                << " of the terms' magnitudes\n";
    }
  }
}

// The explained score must include the biases that the layer adds.
TEST_P(ExplanationTest, WeightsAreTheSoftmaxOfTheScores) {
  if (!GetParam().softmax) GTEST_SKIP() << "another normalizer, or a sink";
  Model<double> model(GetParam().config);
  Forward<double>& forward = model.forward();
  constexpr int64_t kQuery = 4;
  std::vector<double> exponentials;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t key = 0; key <= kQuery; ++key) {
    const auto explanation =
        Explain(forward, model.Trace(),
                {.site = Site(), .head = 1, .query = kQuery, .key = key});
    ASSERT_THAT(explanation.status(), testing::IsOk());
    exponentials.push_back(std::exp(explanation->score));
    weights.push_back(explanation->weight);
    sum += exponentials.back();
  }
  for (size_t key = 0; key < weights.size(); ++key) {
    EXPECT_NEAR(weights[key], exponentials[key] / sum, 1e-12) << key;
  }
}

// Keeps all sources and the scales of norms at their values in `pass`, but sets
// one source at one position to zero.
class Without : public Hook<double> {
 public:
  Without(const SiteValueRecorder<double>& pass, const ResidualSourceId& source,
          int64_t position)
      : pass_(pass), source_(source), position_(position) {
    for (const std::string& pattern : ResidualSourceSites()) {
      if (pattern != "*/attention/context") held_.push_back(pattern);
    }
    output_ = source.site.substr(0, source.site.rfind("/attention/context"));
    output_ += "/attention_output";
  }

  HookRequest Request(const std::string& site) override {
    return {.replacement = site == source_.site ||
                           (site != output_ && MatchesSite(held_, site))};
  }
  Var<double> Replace(Tape<double>& tape, const std::string& site,
                      Var<double> value) override {
    const Var<double> held =
        tape.Constant(value.shape(), pass_.Find(site)->value);
    if (site != source_.site) return held;
    const int64_t rows = held.dim(-2);
    const int64_t first =
        (std::max<int64_t>(source_.head, 0) * rows + position_) * held.cols();
    std::fill_n(held.data() + first, held.cols(), 0);
    return held;
  }

 private:
  const SiteValueRecorder<double>& pass_;
  const ResidualSourceId source_;
  const int64_t position_;
  std::vector<std::string> held_;
  std::string output_;
};

// Sets one source at a time to zero. The score must change by the sum of the
// source's terms.
TEST_P(ExplanationTest, WithoutASourceTheScoreLacksItsTerms) {
  Model<double> model(GetParam().config);
  Forward<double>& forward = model.forward();
  const TraceablePrediction<double> traced = model.Trace();
  constexpr int64_t kQuery = 5;
  constexpr int64_t kKey = 2;
  constexpr int64_t kHead = 1;
  const auto explanation =
      Explain(forward, traced,
              {.site = Site(), .head = kHead, .query = kQuery, .key = kKey});
  ASSERT_THAT(explanation.status(), testing::IsOk());
  SiteValueRecorder<double> pass({"*"});
  {
    forward.BeginStep();
    const ScopedExtraHook<double> watch(forward, &pass);
    traced.pass(forward);
  }
  std::string scores = explanation->site;
  scores.replace(scores.rfind("weights"), std::string::npos, "scores");
  const size_t index =
      (kHead * Model<double>::kTime + kQuery) * Model<double>::kTime + kKey;
  for (const ScoreSource& of : explanation->sources) {
    if (!of.source.has_value()) continue;
    for (const bool of_key : {false, true}) {
      Without without(pass, *of.source, of_key ? kKey : kQuery);
      SiteValueRecorder<double> rest({scores});
      forward.BeginStep();
      const ScopedExtraHook<double> hold(forward, &without);
      const ScopedExtraHook<double> watch(forward, &rest);
      traced.pass(forward);
      EXPECT_NEAR(
          pass.Find(scores)->value[index] - rest.Find(scores)->value[index],
          of_key ? of.as_key : of.as_query, 1e-11)
          << of.Name() << " of the " << (of_key ? "key" : "query");
    }
  }
}

// The queries come from a decoder, and the keys come from the memory of an
// encoder. The terms must have sources in both residual streams.
TEST(CrossExplanationTest, HasSourcesInBothStreams) {
  LayerTestHarness<double> run;
  const auto config = Parse<TransformerConfig>(
      "width: 4 layers: 1 attention { heads: 2 } feed_forward { hidden: 3 }");
  const InputEmbedding<double> source(config, 5,
                                      run.store().Root().Sub("source"));
  const InputEmbedding<double> target(config, 5,
                                      run.store().Root().Sub("target"));
  const TransformerStack<double> encoder(BuiltInScorers(), config, 0,
                                         run.store().Root().Sub("encoder"));
  const TransformerStack<double> decoder(BuiltInScorers(), config, 4,
                                         run.store().Root().Sub("decoder"));
  TraceablePrediction<double> traced;
  traced.labels.sequences = {
      {.name = "source", .labels = {"a", "b", "c"}},
      {.name = "target", .labels = {"<bos>", "d"}, .writes = {"d", "<eos>"}}};
  traced.labels.sites = {{"*cross*", 1, 0}};
  traced.pass = [&](Forward<double>& forward) {
    Tape<double>& tape = forward.tape();
    Var<double> memory;
    {
      const NameScope<double> scope(tape, "encoder");
      memory = encoder(forward, source(forward, Ids(3), 1, 0), {});
    }
    const NameScope<double> scope(tape, "decoder");
    const std::vector<PreparedSource<double>> memories = {
        decoder.PrepareMemory(forward, 0, memory)};
    decoder(forward, target(forward, Ids(2), 1, 0), {.mask = {.causal = true}},
            memories);
    return Var<double>();
  };
  const auto explanation =
      Explain(run.Begin(), traced, {.site = "*cross*", .head = 1, .key = 1});
  ASSERT_THAT(explanation.status(), testing::IsOk());
  EXPECT_EQ(explanation->query_label, "d");
  EXPECT_EQ(explanation->key_label, "b");
  EXPECT_NEAR(explanation->total, explanation->score, 1e-12);
  for (const ScoreSource& of : explanation->sources) {
    if (!of.source.has_value()) continue;
    const bool encodes = of.source->site.starts_with("encoder/");
    EXPECT_EQ(of.as_query == 0, encodes) << of.Name();
    EXPECT_EQ(of.as_key == 0, !encodes) << of.Name();
  }
  EXPECT_THAT(
      Names(*explanation),
      ElementsAre("encoder/token_embedding", "encoder/position_embedding",
                  "encoder/layers[0]/self, head 0",
                  "encoder/layers[0]/self, head 1",
                  "encoder/layers[0]/feed_forward", kToken, kPosition, kHead0,
                  kHead1, "biases"));
}

TEST(RefusedExplanationTest, SaysWhy) {
  const auto error = [](const std::string& config,
                        const ExplainOptions& options) {
    Model<double> model(config + " position_embedding { kind: NONE }");
    return std::string(
        Explain(model.forward(), model.Trace(), options).status().message());
  };
  for (const char* attention :
       {"additive {}", "cosine {}", "map_before { soft_cap { cap: 2 } }",
        "gaussian {}"}) {
    EXPECT_THAT(
        error(std::string("layers: 1 attention { heads: 1 attention { ") +
                  attention + " } }",
              {.site = "*"}),
        HasSubstr("is not linear in what its query and its key read"))
        << attention;
  }
  EXPECT_EQ(error("layers: 2 attention { heads: 3 }", {.site = "*", .head = 0}),
            "'*' matches 2 attentions; give one, such as "
            "'decoder/layers[0]/self/attention/weights'");
  EXPECT_EQ(error("layers: 1 attention { heads: 3 }", {.site = "*"}),
            "head: must be given, because 'decoder/layers[0]/self/attention' "
            "has 3 heads");
  EXPECT_EQ(
      error("layers: 1 attention { heads: 1 } mixer { retention { heads: 2 } }",
            {.site = "*/weights"}),
      "'*/weights' is a state mixer, which has no scores; this model has "
      "no scores of attention");
}

TEST(RefusedExplanationTest, AKeyThatTheQueryDoesNotSee) {
  Model<double> model(
      "layers: 1 attention { heads: 1 attention { selection { moba { "
      "block_size: 2 top_k: 1 } } } }");
  const auto explain = [&](int64_t key) {
    return Explain(model.forward(), model.Trace(),
                   {.site = "*", .query = 5, .key = key});
  };
  EXPECT_THAT(explain(5).status(), testing::IsOk());
  EXPECT_EQ(explain(1).status().message(),
            "key: the query at 5 does not see the key at 1");
}

TEST(RefusedExplanationTest, RequiresOneText) {
  LayerTestHarness<double> run;
  const auto config =
      Parse<TransformerConfig>("width: 4 layers: 1 attention { heads: 1 }");
  const InputEmbedding<double> embedding(config, 5, run.store().Root());
  const TransformerStack<double> stack(BuiltInScorers(), config, 0,
                                       run.store().Root());
  TraceablePrediction<double> traced;
  traced.pass = [&](Forward<double>& of) {
    stack(of, embedding(of, Ids(6), 2, 0), {});
    return Var<double>();
  };
  EXPECT_EQ(Explain(run.Begin(), traced, {.site = "*"}).status().message(),
            "the model reads 2 texts at once; give one text");
}

}  // namespace
}  // namespace regard
