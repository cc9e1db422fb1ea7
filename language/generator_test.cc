#include "language/generator.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// A model of "abcdefgh" whose parameters are spread wide enough that its
// choices differ.
class GeneratorTest : public ::testing::Test {
 protected:
  static LanguageModel Make(const std::string& fields) {
    LanguageModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        fields + " transformer { width: 16 layers: 2 attention { heads: 2 } "
                 "position_embedding { kind: LEARNED longest: 12 } }",
        &config));
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    return LanguageModel(config, scorers,
                         TextVocabulary::Of("abcdefgh", config), /*seed=*/1);
  }

  static void Spread(LanguageModel& model) {
    const RandomStream random(7, "values");
    const absl::Span<float> values = model.parameters().values();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(2 * random.UniformAt(i) - 1);
    }
  }

  static std::vector<int32_t> Continue(const LanguageModel& model,
                                       const std::vector<int32_t>& prompt,
                                       const GenerationOptions& options,
                                       bool* ended = nullptr) {
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    std::vector<int32_t> made;
    const bool end = Generate(model, forward, prompt, options, [&](int32_t id) {
      made.push_back(id);
      return true;
    });
    if (ended != nullptr) *ended = end;
    return made;
  }

  // The logits after ids[first .. end), computed in one pass.
  static std::vector<float> LogitsAfter(const LanguageModel& model,
                                        absl::Span<const int32_t> ids) {
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    forward.BeginStep();
    const Var<float> logits = model.decoder().head().Logits(
        forward, model.decoder().Run(forward, {.sources = 1}, ids));
    const float* const end = logits.data() + logits.size();
    return {end - logits.cols(), end};
  }
};

GenerationOptions Greedy(int64_t length) {
  GenerationOptions options;
  options.length = length;
  options.sampling.set_top_k(1);
  return options;
}

TEST_F(GeneratorTest, GreedyChoicesAreTheLikeliestOfAFullPass) {
  LanguageModel model = Make("block: 12");
  Spread(model);
  std::vector<int32_t> text = {0, 3, 5};
  // Ids 3 to 11 are chosen within the block. Choosing id 13 would need 13 ids,
  // so the last 6 are read again, and so on.
  const std::vector<int32_t> made = Continue(model, text, Greedy(40));
  ASSERT_EQ(made.size(), 40);
  size_t first = 0;
  for (const int32_t id : made) {
    if (text.size() - first > 12) first = text.size() - 6;
    const std::vector<float> logits =
        LogitsAfter(model, absl::MakeConstSpan(text).subspan(first));
    EXPECT_EQ(id,
              std::max_element(logits.begin(), logits.end()) - logits.begin())
        << "after " << text.size() << " ids";
    text.push_back(id);
  }
  // Not one id all along, which a model that reads nothing could give, too.
  EXPECT_GT(std::set<int32_t>(made.begin(), made.end()).size(), 1);
}

TEST_F(GeneratorTest, OfALongPromptTheLastHalfBlockIsRead) {
  LanguageModel model = Make("block: 12");
  Spread(model);
  const std::vector<int32_t> prompt = {0, 1, 2, 3, 4, 5, 6,
                                       7, 0, 2, 4, 6, 1, 3};
  const std::vector<int32_t> half(prompt.end() - 6, prompt.end());
  EXPECT_EQ(Continue(model, prompt, Greedy(5)),
            Continue(model, half, Greedy(5)));
}

TEST_F(GeneratorTest, SamplesDependOnSeedAndPromptAlone) {
  LanguageModel model = Make("block: 12");
  GenerationOptions options;
  options.length = 30;
  const std::vector<int32_t> first = Continue(model, {1, 2}, options);
  EXPECT_EQ(first, Continue(model, {1, 2}, options));
  EXPECT_NE(first, Continue(model, {1, 3}, options));
  options.sampling.set_seed(1);
  EXPECT_NE(first, Continue(model, {1, 2}, options));
}

TEST_F(GeneratorTest, ALineEndsWhereTheModelEndsIt) {
  LanguageModel model = Make("block: 12 examples: LINES");
  const SpecialIds special = model.vocabulary().special_ids();
  const absl::Span<float> values = model.parameters().values();
  std::fill(values.begin(), values.end(), 0.0F);
  const absl::Span<float> bias =
      model.parameters().value(*model.parameters().FindByName("output.bias"));
  bool ended = false;
  // The beginning is never generated.
  bias[special.begin] = 3;
  bias[4] = 2;
  bias[special.end] = 1;
  EXPECT_THAT(Continue(model, {special.begin}, Greedy(3), &ended),
              ElementsAre(4, 4, 4));
  EXPECT_FALSE(ended);
  bias[4] = 0;
  EXPECT_THAT(Continue(model, {special.begin}, Greedy(3), &ended),
              ElementsAre());
  EXPECT_TRUE(ended);
}

TEST_F(GeneratorTest, StopsWhenItIsTold) {
  LanguageModel model = Make("block: 12");
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  int count = 0;
  const std::vector<int32_t> prompt = {1};
  EXPECT_FALSE(Generate(model, forward, prompt, Greedy(10),
                        [&](int32_t) { return ++count < 3; }));
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(tape.recording());
  EXPECT_DEATH(
      Generate(model, forward, {}, Greedy(1), [](int32_t) { return true; }),
      "an empty prompt");
}

}  // namespace
}  // namespace regard
