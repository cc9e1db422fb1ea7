// Tests every hook point of every kind of model. If a hook only reads a value,
// the results must be bit-identical. If it replaces a value by zeros, the loss
// must change.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/patching.h"
#include "attention/inspection/trace.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"
#include "evaluation/prediction.h"
#include "experiments/report/figure.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/row_statistics.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/model.h"
#include "options/reader.h"

namespace regard {
namespace {

struct Kind {
  const char* name;
  const char* config;
  // Parts of the names of the hook points whose replacement by zeros has no
  // effect. Comments in kKinds state the reasons.
  std::vector<std::string> without_effect = {};
};

constexpr char kSentences[] =
    "data { reverse { train: 50 dev: 4 test: 4 max_length: 5 "
    "max_test_length: 5 } } ";

// The kinds of models. Some have dropout, so that a training pass differs from
// an evaluation pass.
const Kind kKinds[] = {
    {"gru_dot",
     "model { encoder { embedding: 4 hidden: 6 embedding_dropout: 0.1 } "
     "attention { dot {} } decoder { embedding: 4 hidden: 6 } }"},
    {"lstm_additive",
     "model { encoder { embedding: 4 hidden: 3 layers: 2 cell: LSTM "
     "bidirectional: true } attention { additive { width: 5 } dropout: 0.1 } "
     "decoder { embedding: 4 hidden: 6 layers: 2 cell: LSTM query: "
     "CURRENT_STATE initial_state: PROJECTED readout: ATTENTIONAL "
     "input_feeding: true } }"},
    {"gru_luong",
     "model { encoder { embedding: 4 hidden: 6 } attention { bilinear {} } "
     "decoder { embedding: 4 hidden: 6 query: CURRENT_STATE readout: "
     "ATTENTIONAL hidden_dropout: 0.1 } }"},
    {"gru_location_aware",
     "model { encoder { embedding: 4 hidden: 6 } attention { location_aware {} "
     "} decoder { embedding: 4 hidden: 6 hidden_dropout: 0.1 } }"},
    {"transformer",
     "model { transformer { width: 8 layers: 2 attention { heads: 2 } "
     "feed_forward { hidden: 8 } dropout: 0.1 } }"},
    {"hybrid",
     "model { transformer_encoder { width: 6 layers: 1 attention { heads: 2 "
     "attention { additive {} normalizer { sparsemax {} } } } } attention { "
     "scaled_dot {} } decoder { embedding: 4 hidden: 6 initial_state: "
     "PROJECTED } }"},
    {"language_model",
     "data { grammar { train: 20 } } model { language_model { examples: LINES "
     "transformer { width: 8 layers: 2 attention { heads: 2 attention { "
     "relative_dot {} } } feed_forward { hidden: 8 } dropout: 0.1 recompute: "
     "true } } }"},
    {"masked_words",
     "data { grammar { train: 20 } } model { bert { types: 1 pooler: false "
     "transformer { initialization { standard_deviation: 0.5 } width: 8 "
     "layers: 2 attention { heads: 2 } feed_forward { "
     "hidden: 8 chunk: 3 } } masked_words { block: 32 } } }"},
    {"text_classifier",
     "data { grammaticality { train: 20 } } model { text_classifier { bert { "
     "types: 1 transformer { initialization { standard_deviation: 0.5 } width: "
     "8 layers: 1 attention { heads: 2 attention "
     "{ position_encoding { relative_buckets {} } } } } masked_words { block: "
     "64 } } } }",
     // The initial values of the bias are 0.
     {"attention/distance_bias"}},
    {"text_embedder",
     "data { scored_pairs { dev_fraction: 0.25 } } model { text_embedder { "
     "bert "
     "{ pooler: false transformer { initialization { standard_deviation: 0.5 } "
     "width: 8 layers: 1 attention { heads: 2 } feed_forward { hidden: 8 } } } "
     "} }"},
    {"token_classifier",
     "data { associative_recall { train: 20 vocabulary: 12 length: 12 pairs: 2 "
     "} } model { token_classifier { transformer { width: 8 layers: 2 "
     "attention "
     "{ heads: 2 } pattern { mixer { delta_net { heads: 2 } } } pattern {} "
     "feed_forward { hidden: 8 } dropout: 0.1 } } }"},
    {"vision_transformer",
     "data { shapes { train: 20 } } model { vision_transformer { patch: 4 "
     "transformer { width: 8 layers: 2 attention { heads: 2 attention { "
     "dropout: 0.1 } } feed_forward { hidden: 8 } } } }"},
    {"vision_transformer_average",
     "data { shapes { train: 20 } } model { vision_transformer { patch: 4 "
     "transformer { width: 8 layers: 1 attention { heads: 2 attention { "
     "average {} } } feed_forward { hidden: 8 } } } }",
     // Scores are 0 for all queries and keys.
     {"attention/queries", "attention/keys", "attention/scores"}},
    {"captioner",
     "data { captions { train: 20 } } model { captioner { vision_transformer { "
     "patch: 4 transformer { width: 8 layers: 1 attention { heads: 2 } } } "
     "decoder { width: 8 layers: 2 attention { heads: 2 } dropout: 0.1 } } }"},
    {"regression",
     "data { nadaraya_watson {} } model { nadaraya_watson {} attention { "
     "parametric_gaussian {} } }"},
};

// Requests one operation at each hook point that matches a pattern.
class Requester : public Hook<float> {
 public:
  enum Wants { kValue, kGradient, kSame, kZeros };

  Requester(std::string pattern, Wants wants)
      : pattern_(std::move(pattern)), wants_(wants) {}

  HookRequest Request(const std::string& site) override {
    if (!MatchesSite(pattern_, site)) return {};
    return {.value = wants_ == kValue,
            .gradient = wants_ == kGradient,
            .replacement = wants_ == kSame || wants_ == kZeros};
  }
  void OnValue(const std::string& site, Var<float>) override {
    sites.push_back(site);
  }
  Var<float> Replace(Tape<float>& tape, const std::string&,
                     Var<float> value) override {
    return wants_ == kSame ? value * 1.0F : tape.Full(value.shape(), 0);
  }

  std::vector<std::string> sites;  // the hook points whose values were read

 private:
  const std::string pattern_;
  const Wants wants_;
};

// Compares row statistics with the weights of the same pass.
class RowChecker : public Hook<float> {
 public:
  HookRequest Request(const std::string& site) override {
    if (!MatchesSite("*/weights", site)) return {};
    return {.value = true,
            .rows = {.entropy = true, .top = true, .first = true}};
  }
  void OnValue(const std::string& site, Var<float> value) override {
    std::vector<double>& rows = values_[site];
    for (int64_t row = 0; row < value.rows(); ++row) {
      const auto weights =
          value.span().subspan(row * value.cols(), value.cols());
      double sum = 0;
      double top = 0;
      for (const float w : weights) {
        sum += std::abs(w);
        top = std::max<double>(top, std::abs(w));
      }
      double entropy = 0;
      for (const float w : weights) {
        if (w != 0) entropy -= std::abs(w) / sum * std::log(std::abs(w) / sum);
      }
      rows.insert(rows.end(), {sum, entropy, top, std::abs(weights[0])});
    }
  }
  void OnRowStatistics(const std::string& site,
                       const AttentionStatistics& rows) override {
    std::vector<double>& seen = rows_[site];
    for (int64_t i = 0; i < rows.size(); ++i) {
      seen.insert(seen.end(),
                  {rows.sum[i], rows.entropy[i], rows.top[i], rows.first[i]});
    }
  }

  void Check() const {
    EXPECT_FALSE(values_.empty());
    EXPECT_EQ(values_.size(), rows_.size());
    for (const auto& [site, want] : values_) {
      const auto found = rows_.find(site);
      ASSERT_NE(found, rows_.end()) << site;
      ASSERT_EQ(found->second.size(), want.size()) << site;
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(found->second[i], want[i], 1e-6 * (1 + want[i]))
            << site << ", number " << i % 4 << " of row " << i / 4;
      }
    }
  }

 private:
  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, std::vector<double>> rows_;
};

struct Result {
  std::vector<float> losses;
  std::vector<float> gradients;

  bool operator==(const Result&) const = default;
};

class SitesTest : public ::testing::TestWithParam<Kind> {
 protected:
  SitesTest() {
    const std::string config = GetParam().config;
    std::vector<std::string> overrides;
    if (absl::StrContains(config, "scored_pairs")) {
      const std::string pairs = absl::StrCat(::testing::TempDir(), "/pairs");
      std::ofstream(pairs)
          << "a b c\tb c\t0.7\nb\ta b\t0.3\nc a\tc\t1\na c\tb\t0.5\n";
      overrides.push_back(absl::StrCat("data.path=", pairs));
    }
    const auto loaded =
        LoadConfig({"test.textproto", absl::StrContains(config, "data {")
                                          ? config
                                          : absl::StrCat(kSentences, config)},
                   overrides, BuiltInPlugins());
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    task_ = BuildTask(loaded->config, BuiltInPlugins()).value();
    // Makes the weights larger, because rounding would hide the effects of
    // small weights.
    for (float& value : model().parameters().values()) value *= 3;
    gradients_ = std::make_unique<GradientSlab<float>>(model().parameters());
    forward_ = std::make_unique<Forward<float>>(tape_, model().parameters(),
                                                gradients_.get());
  }

  Model<float>& model() { return task_->model(); }

  Result Run(Hook<float>* hook, bool training = false) {
    forward_->set_hook(hook);
    forward_->BeginStep();
    const std::vector<int64_t> examples = {0, 1, 2};
    tape_.set_training(training);
    tape_.set_random({.seed = 1, .step = 0, .examples = examples});
    const size_t terms = model().loss_terms().size();
    std::vector<double> denominators(terms);
    model().Denominators(examples, absl::MakeSpan(denominators));
    std::vector<Var<float>> sums(terms);
    model().Loss(*forward_, examples, denominators, absl::MakeSpan(sums));
    forward_->Backward(sums, std::vector<double>(terms, 1));
    Result result;
    for (const Var<float> sum : sums) result.losses.push_back(sum.item());
    result.gradients.assign(gradients_->values().begin(),
                            gradients_->values().end());
    return result;
  }

  Tape<float> tape_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<GradientSlab<float>> gradients_;
  std::unique_ptr<Forward<float>> forward_;
};

INSTANTIATE_TEST_SUITE_P(EveryKind, SitesTest, ::testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(SitesTest, ReadingHasNoEffectAndReplacingHasOne) {
  Requester all("*", Requester::kValue);
  for (const bool training : {true, false}) {
    all.sites.clear();
    const Result plain = Run(nullptr, training);
    EXPECT_TRUE(Run(&all, training) == plain) << "training " << training;
  }
  const std::set<std::string> names(all.sites.begin(), all.sites.end());
  EXPECT_EQ(names.size(), all.sites.size()) << "a site is visited twice";
  for (const char* part :
       {"attention/queries", "attention/keys", "attention/values",
        "attention/scores", "attention/weights", "attention/context"}) {
    const bool any = std::any_of(
        names.begin(), names.end(),
        [&](const std::string& name) { return absl::StrContains(name, part); });
    EXPECT_TRUE(any) << part;
  }
  int without_effect = 0;
  for (const std::string& site : names) {
    Requester composed(site, Requester::kGradient);
    const Result before = Run(&composed);
    Requester same(site, Requester::kSame);
    const Result copied = Run(&same);
    EXPECT_EQ(copied.losses, before.losses) << site << " replaced by itself";
    // Allows a tolerance. If several operations use a value, its gradient
    // depends on the order in which the terms are added.
    for (size_t i = 0; i < before.gradients.size(); ++i) {
      const float want = before.gradients[i];
      ASSERT_NEAR(copied.gradients[i], want, 1e-5F * (1 + std::abs(want)))
          << site << " replaced by itself: gradient " << i;
    }
    Requester zeros(site, Requester::kZeros);
    const bool changes = Run(&zeros).losses != before.losses;
    const auto& listed = GetParam().without_effect;
    const bool expected = std::none_of(
        listed.begin(), listed.end(),
        [&](const std::string& part) { return absl::StrContains(site, part); });
    EXPECT_EQ(changes, expected) << site << " replaced by zeros";
    without_effect += expected ? 0 : 1;
  }
  std::cout << GetParam().name << ": " << names.size() << " sites, "
            << without_effect << " of which zeros leave the loss as it is\n";
}

TEST_P(SitesTest, HaveStatisticsOfTheRowsOfWeights) {
  for (const bool training : {true, false}) {
    const Result plain = Run(nullptr, training);
    RowChecker rows;
    EXPECT_TRUE(Run(&rows, training) == plain) << "training " << training;
    rows.Check();
  }
}

// Returns the choice with the given name, or null if there is none.
const Prediction::Choice* Find(const std::vector<Prediction::Choice>& choices,
                               const std::string& name) {
  const auto found =
      std::find_if(choices.begin(), choices.end(),
                   [&](const auto& choice) { return choice.name == name; });
  return found == choices.end() ? nullptr : &*found;
}

TEST_P(SitesTest, TraceMatchesThePrediction) {
  const PredictionRequest request = {.example = 0};
  constexpr size_t kAll = 1000;
  const auto answered =
      task_->Predict(*forward_, request, {.length = 1, .most_choices = kAll});
  const auto traced = task_->Trace(*forward_, request, {});
  ASSERT_TRUE(answered.ok() && traced.ok()) << traced.status();
  const TraceDescription& labels = traced->labels;
  EXPECT_EQ(labels.input, answered->input);
  EXPECT_EQ(labels.prediction, answered->text);
  const Inspection<float> seen = Inspect(
      *forward_, *traced, {.chosen = labels.chosen, .most_choices = kAll});
  ASSERT_FALSE(seen.maps.empty());
  EXPECT_FALSE(seen.inputs.empty());
  const SiteShapes sites = RecordSiteShapes(task_->model(), /*seed=*/1, {});
  for (const AttentionMap<float>& map : seen.maps) {
    // Titles of figures must name a map so that the patterns of `intervene`
    // match.
    const std::string title = FullTitle(WeightsOf(labels, map));
    EXPECT_TRUE(std::ranges::any_of(sites, [&](const auto& site) {
      return MatchesSite(title, site.first);
    })) << title;
    // Every map must have labels for its queries and keys.
    const SiteSequences* const of = labels.Find(map.site);
    ASSERT_NE(of, nullptr) << map.site;
    EXPECT_EQ(std::ssize(labels.sequences[of->queries].query_labels()),
              map.shape[2])
        << map.site;
    EXPECT_EQ(std::ssize(labels.sequences[of->keys].labels), map.shape[3])
        << map.site;
    EXPECT_EQ(map.gradients.size(), map.weights.size()) << map.site;
  }
  EXPECT_EQ(seen.heads.size(), seen.maps.size());
  for (size_t i = 0; i < labels.outputs.size(); ++i) {
    const TracedOutputLabel& output = labels.outputs[i];
    if (!answered->values.empty()) {
      EXPECT_NEAR(seen.outputs[i], answered->values[i], 1e-6);
      continue;
    }
    const double probability = std::exp(seen.outputs[i]);
    if (!answered->choices.empty()) {
      const size_t of = answered->choices.size() > 1 ? i : 0;
      const auto* const choice = Find(answered->choices[of], output.name);
      ASSERT_NE(choice, nullptr) << output.name;
      EXPECT_NEAR(choice->probability, probability, 1e-5);
    }
    if (seen.lens.empty()) continue;
    // At the last layer, the lens must equal the prediction of the model.
    const auto& rows = seen.lens.back().rows;
    const size_t row = rows.size() == labels.outputs.size() ? i
                       : rows.size() == 1
                           ? 0
                           : static_cast<size_t>(output.position);
    const auto* const choice = Find(rows.at(row), output.name);
    ASSERT_NE(choice, nullptr) << output.name;
    EXPECT_NEAR(choice->probability, probability, 1e-5) << output.name;
  }
  const auto patched =
      Patch(*forward_, *traced, *traced, "*embedded", labels.chosen);
  if (!patched.ok()) return;  // a regression has no embedding to replace
  for (const PatchedSite& of : patched->sites) {
    for (const double change : of.changes) EXPECT_EQ(change, 0) << of.site;
  }
}

}  // namespace
}  // namespace regard
