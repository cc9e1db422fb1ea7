#include "language/generator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/interventions/intervention.pb.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/output_head.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Config fields that select the mixers of the tested models.
constexpr const char* kMixers[] = {
    "", "mixer { retention { heads: 2 } }",
    "pattern {} pattern { mixer { gated_linear { heads: 2 } } }",
    "mixer { mamba2 { heads: 2 key_width: 4 } }",
    "mixer { linear_attention { heads: 2 } }"};

// A model of the text "abcdefgh". Spread() gives it large random parameters, so
// that it does not always generate the same id.
class GeneratorTest : public ::testing::Test {
 protected:
  static LanguageModel Make(const std::string& fields,
                            const std::string& attention = "scaled_dot {}",
                            const std::string& transformer = "",
                            int longest = 12) {
    LanguageModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        fields + " transformer { width: 16 layers: 2 attention { heads: 2 " +
            "attention { " + attention + " } } position_embedding { " +
            "kind: LEARNED longest: " + std::to_string(longest) + " } " +
            transformer + " }",
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

  static std::vector<Hypothesis> ContinueAll(const LanguageModel& model,
                                             const std::vector<int32_t>& prompt,
                                             const GenerationOptions& options,
                                             Hook<float>* hook = nullptr) {
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    forward.set_hook(hook);
    return Generate(model, forward, {prompt}, options)[0];
  }

  static std::vector<int32_t> Continue(const LanguageModel& model,
                                       const std::vector<int32_t>& prompt,
                                       const GenerationOptions& options,
                                       Hook<float>* hook = nullptr) {
    return ContinueAll(model, prompt, options, hook)[0].ids;
  }

  // Returns the logits after the last of `ids`, computed in one pass.
  static std::vector<float> LogitsAfter(const LanguageModel& model,
                                        absl::Span<const int32_t> ids,
                                        Hook<float>* hook = nullptr) {
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    forward.set_hook(hook);
    forward.BeginStep();
    const Var<float> logits = model.decoder().head().Logits(
        forward, model.decoder().Run(forward, {.sources = 1}, ids));
    const float* const end = logits.data() + logits.size();
    return {end - logits.cols(), end};
  }

  static double LogProbability(const LanguageModel& model,
                               std::vector<int32_t> text,
                               const std::vector<int32_t>& ids);
};

GenerationOptions Greedy(int64_t length) {
  GenerationOptions options;
  options.length = length;
  options.search.mutable_sampling()->set_top_k(1);
  return options;
}

// Sets all parameters to 0. Returns the output bias, which then equals the
// logits of every position.
absl::Span<float> BiasAlone(LanguageModel& model) {
  ParameterStore<float>& parameters = model.parameters();
  std::fill(parameters.values().begin(), parameters.values().end(), 0.0F);
  return parameters.value(*parameters.FindByName("output.bias"));
}

TEST_F(GeneratorTest, GreedyChoicesAreTheMostLikelyIdsOfAFullPass) {
  // Generates without interventions, and with an intervention that replaces the
  // attention weights of head 1 in all layers.
  google::protobuf::RepeatedPtrField<Intervention> none;
  google::protobuf::RepeatedPtrField<Intervention> uniform;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "site: '*/weights' head: 1 replace { uniform {} }", uniform.Add()));
  const google::protobuf::RepeatedPtrField<SiteStatistic> no_statistics;
  for (const char* mixer : kMixers) {
    LanguageModel model = Make("block: 12", "scaled_dot {}", mixer);
    Spread(model);
    std::vector<int32_t> plain;
    for (const auto* interventions : {&none, &uniform}) {
      ConfiguredHook<float> configured({*interventions, no_statistics}, 0);
      Hook<float>* const hook = configured.BeginEvaluation(0);
      EXPECT_EQ(hook != nullptr, interventions == &uniform);
      std::vector<int32_t> text = {0, 3, 5};
      // The model reads at most 12 ids. When it has read 12 ids, it begins
      // again with the last 6 ids of the text.
      const std::vector<int32_t> made = Continue(model, text, Greedy(40), hook);
      ASSERT_EQ(made.size(), 40);
      size_t first = 0;
      for (const int32_t id : made) {
        if (text.size() - first > 12) first = text.size() - 6;
        const std::vector<float> logits =
            LogitsAfter(model, absl::MakeConstSpan(text).subspan(first), hook);
        EXPECT_EQ(
            id, std::max_element(logits.begin(), logits.end()) - logits.begin())
            << mixer << " after " << text.size() << " ids";
        text.push_back(id);
      }
      // The text must contain several ids, because a model that ignores its
      // input could repeat a single id.
      EXPECT_GT(std::set<int32_t>(made.begin(), made.end()).size(), 1);
      EXPECT_NE(made, plain) << "what the intervention changes";
      plain = made;
    }
  }
}

TEST_F(GeneratorTest, ReadsTheLastHalfBlockOfALongPrompt) {
  LanguageModel model = Make("block: 12");
  Spread(model);
  const std::vector<int32_t> prompt = {0, 1, 2, 3, 4, 5, 6,
                                       7, 0, 2, 4, 6, 1, 3};
  const std::vector<int32_t> half(prompt.end() - 6, prompt.end());
  EXPECT_EQ(Continue(model, prompt, Greedy(5)),
            Continue(model, half, Greedy(5)));
}

TEST_F(GeneratorTest, SamplesDependOnlyOnSeedAndPrompt) {
  LanguageModel model = Make("block: 12");
  GenerationOptions options;
  options.length = 30;
  SamplingConfig& sampling = *options.search.mutable_sampling();
  const std::vector<int32_t> first = Continue(model, {1, 2}, options);
  EXPECT_EQ(first, Continue(model, {1, 2}, options));
  EXPECT_NE(first, Continue(model, {1, 3}, options));
  sampling.set_seed(1);
  EXPECT_NE(first, Continue(model, {1, 2}, options));
}

TEST_F(GeneratorTest, ALineEndsWhereTheModelEndsIt) {
  LanguageModel model = Make("block: 12 examples: LINES");
  const SpecialIds special = model.vocabulary().special_ids();
  const absl::Span<float> bias = BiasAlone(model);
  // <bos> must never be generated.
  bias[special.begin] = 3;
  bias[4] = 2;
  bias[special.end] = 1;
  const Hypothesis cut = ContinueAll(model, {special.begin}, Greedy(3))[0];
  EXPECT_THAT(cut.ids, ElementsAre(4, 4, 4));
  EXPECT_FALSE(cut.finished);
  bias[4] = 0;
  const Hypothesis ended = ContinueAll(model, {special.begin}, Greedy(3))[0];
  EXPECT_THAT(ended.ids, ElementsAre());
  EXPECT_TRUE(ended.finished);
}

TEST_F(GeneratorTest, StopsOnRequest) {
  LanguageModel model = Make("block: 12");
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const std::vector<std::vector<int32_t>> prompts = {{1}, {1, 2, 3}, {2}};
  std::vector<std::vector<int32_t>> told(3);
  const auto found = Generate(model, forward, prompts, Greedy(10),
                              [&](size_t prompt, int32_t id) {
                                told[prompt].push_back(id);
                                return prompt != 1 || told[1].size() < 3;
                              });
  EXPECT_EQ(told[0].size(), 10);
  EXPECT_EQ(told[1].size(), 3);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i][0].ids, told[i]);
  EXPECT_TRUE(tape.recording());
  EXPECT_TRUE(Generate(model, forward, {}, Greedy(1)).empty());
  EXPECT_TRUE(Generate(model, forward, prompts, Greedy(0))[1][0].ids.empty());
  EXPECT_DEATH(Generate(model, forward, {{1}, {}}, Greedy(1)),
               "an empty prompt");
  GenerationOptions beam = Greedy(1);
  beam.search.clear_sampling();
  beam.search.set_beam(2);
  EXPECT_DEATH(Generate(model, forward, prompts, beam,
                        [](size_t, int32_t) { return true; }),
               "2 hypotheses of a source");
}

// A block has 12 ids. Prompts of different lengths join the batch at different
// steps. When a text fills the block, its last half block is read again.
TEST_F(GeneratorTest, AContinuationDoesNotDependOnTheBatch) {
  const std::vector<std::vector<int32_t>> prompts = {
      {1, 2, 3}, {4},          {0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1},
      {5, 5},    {7, 3, 5},    {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3},
      {6, 7, 0}, {1, 2, 3, 4}, {2, 1, 0, 3, 4, 5, 6}};
  const char* const searches[] = {
      "sampling {}", "n_best: 3 sampling { temperature: 2 }",
      "beam: 3 n_best: 2 length_penalty: 0",
      "beam: 2 repetition_penalty: 1.5 no_repeat_ngram: 3"};
  for (const auto& [attention, mixer] :
       std::vector<std::pair<const char*, const char*>>{
           {"scaled_dot {}", ""},
           {"additive {}", ""},
           {"relative_dot { max_position: 12 }", ""},
           {"scaled_dot {}",
            "pattern {} pattern { mixer { gated_linear { heads: 2 } } }"},
           {"scaled_dot {}", "mixer { linear_attention { heads: 2 } }"},
           {"scaled_dot {}", "mixer { kda { heads: 2 } }"}}) {
    LanguageModel model = Make("block: 12 examples: LINES", attention, mixer);
    Spread(model);
    for (const char* search : searches) {
      GenerationOptions options;
      options.length = 33;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
          search, &options.search));
      Tape<float> tape;
      Forward<float> forward(tape, model.parameters(), nullptr);
      const auto together = Generate(model, forward, prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        const auto alone = ContinueAll(model, prompts[i], options);
        ASSERT_EQ(alone.size(), together[i].size());
        for (size_t n = 0; n < alone.size(); ++n) {
          EXPECT_EQ(alone[n].ids, together[i][n].ids)
              << attention << " " << mixer << ", " << search << ", prompt "
              << i;
          EXPECT_EQ(alone[n].log_probability, together[i][n].log_probability);
          EXPECT_EQ(alone[n].score, together[i][n].score);
        }
      }
    }
  }
}

// 70 prompts do not fit in one batch.
TEST_F(GeneratorTest, BatchesKeepTheOrderOfPrompts) {
  LanguageModel model = Make("block: 12");
  Spread(model);
  std::vector<std::vector<int32_t>> prompts;
  for (int32_t i = 0; i < 70; ++i) prompts.push_back({i % 8, i / 8 % 8, i % 3});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  std::vector<std::vector<int32_t>> told(70);
  const auto found = Generate(model, forward, prompts, Greedy(5),
                              [&](size_t prompt, int32_t id) {
                                told[prompt].push_back(id);
                                return true;
                              });
  ASSERT_EQ(found.size(), 70);
  for (size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(found[i][0].ids, Continue(model, prompts[i], Greedy(5))) << i;
    EXPECT_EQ(found[i][0].ids, told[i]);
  }
}

// Returns the log-probability of `ids` after `text`, computed with one pass per
// id.
double GeneratorTest::LogProbability(const LanguageModel& model,
                                     std::vector<int32_t> text,
                                     const std::vector<int32_t>& ids) {
  double sum = 0;
  for (const int32_t id : ids) {
    const std::vector<float> logits = LogitsAfter(model, text);
    double total = 0;
    for (const float logit : logits) total += std::exp(double{logit});
    sum += double{logits[static_cast<size_t>(id)]} - std::log(total);
    text.push_back(id);
  }
  return sum;
}

// A beam of 64 keeps all 8 * 8 continuations of two ids. It must therefore find
// the best of the 8 * 8 * 8 continuations of three ids.
TEST_F(GeneratorTest, AWideBeamFindsTheLikeliestTexts) {
  for (const char* mixer : kMixers) {
    LanguageModel model = Make("block: 12", "scaled_dot {}", mixer);
    Spread(model);
    const std::vector<int32_t> prompt = {3, 1};
    std::vector<std::pair<double, std::vector<int32_t>>> all;
    for (int32_t i = 0; i < 512; ++i) {
      const std::vector<int32_t> ids = {i / 64, i / 8 % 8, i % 8};
      all.emplace_back(-LogProbability(model, prompt, ids), ids);
    }
    std::sort(all.begin(), all.end());
    GenerationOptions options;
    options.length = 3;
    options.search.set_beam(64);
    options.search.set_n_best(5);
    options.search.set_length_penalty(0);
    const auto found = ContinueAll(model, prompt, options);
    ASSERT_EQ(found.size(), 5);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(found[i].ids, all[i].second) << mixer;
      EXPECT_NEAR(found[i].score, -all[i].first, 1e-4) << mixer;
      EXPECT_FALSE(found[i].finished);
    }
  }
}

TEST_F(GeneratorTest, SamplesHaveTheProbabilitiesOfFullPasses) {
  for (const char* mixer : kMixers) {
    LanguageModel model = Make("block: 12", "scaled_dot {}", mixer);
    Spread(model);
    GenerationOptions options;
    options.length = 10;
    options.search.mutable_sampling()->set_temperature(4);
    options.search.set_n_best(3);
    std::set<std::vector<int32_t>> texts;
    for (const Hypothesis& sample : ContinueAll(model, {3, 1}, options)) {
      const double wanted = LogProbability(model, {3, 1}, sample.ids);
      EXPECT_NEAR(sample.log_probability, wanted, 1e-5 * (1 - wanted)) << mixer;
      texts.insert(sample.ids);
    }
    EXPECT_EQ(texts.size(), 3) << mixer;
  }
}

// Up to 3 allocations are allowed, because the arena of a search may still
// double its blocks.
TEST_F(GeneratorTest, AWarmStepOfASearchAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  std::vector<std::string> layers(std::begin(kMixers), std::end(kMixers));
  layers.push_back(
      "pattern { attention { attention { sink {} map_before { soft_cap {} } } "
      "head_output { gate {} } } }");
  for (const std::string& of_layers : layers) {
    LanguageModel model =
        Make("block: 60", "scaled_dot {}", of_layers, /*longest=*/60);
    Spread(model);
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    for (const int beam : {0, 3}) {
      std::vector<int64_t> allocations;
      // The first two searches are for warm-up.
      for (const int length : {50, 50, 5, 50}) {
        GenerationOptions options = Greedy(length);
        if (beam > 0) {
          options.search.clear_sampling();
          options.search.set_beam(beam);
        }
        const int64_t before = AllocationCount();
        const auto made = Generate(model, forward, {{1, 2}, {3, 4}}, options);
        allocations.push_back(AllocationCount() - before);
        EXPECT_EQ(made[1][0].ids.size(), length);
      }
      EXPECT_LE(allocations[3] - allocations[2], 3)
          << "45 steps of " << of_layers << ", beam " << beam;
    }
  }
}

// Up to the end of the first stop string, the text must equal the text that is
// generated without stop strings.
TEST_F(GeneratorTest, TextsStopWithTheFirstStopString) {
  LanguageModel model = Make("block: 12");
  Spread(model);
  for (const bool beam : {false, true}) {
    GenerationOptions options = Greedy(30);
    if (beam) {
      options.search.clear_sampling();
      options.search.set_beam(1);
    }
    const std::vector<int32_t> prompt = {1, 2};
    const std::vector<int32_t> whole = Continue(model, prompt, options);
    const std::string text = model.vocabulary().OneLine(whole);
    for (const size_t length : {1, 2, 5}) {
      for (size_t i = 0; i + length <= text.size(); i += 3) {
        options.stops = {"zz", text.substr(i, length)};
        const std::vector<int32_t> made = Continue(model, prompt, options);
        EXPECT_EQ(model.vocabulary().OneLine(made),
                  text.substr(0, text.find(options.stops[1]) + length));
      }
    }
    // The prompt ends in "bc". A stop string that begins in the prompt must not
    // match.
    options.stops = {"bc" + text.substr(0, 2), "c" + text.substr(0, 1)};
    EXPECT_EQ(Continue(model, prompt, options), whole);
  }
}

// Words are separated by a space, so "b b" matches but "bb" does not.
TEST_F(GeneratorTest, StopStringsMatchTheTextNotIds) {
  LanguageModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "unit: WORDS block: 12 transformer { width: 8 layers: 1 attention { "
      "heads: 2 } }",
      &config));
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  LanguageModel model(config, scorers, TextVocabulary::Of("a b c", config),
                      /*seed=*/1);
  // The model always writes b, which is id 2.
  BiasAlone(model)[2] = 9;
  GenerationOptions options = Greedy(7);
  options.stops = {"bb"};
  EXPECT_EQ(Continue(model, {1}, options).size(), 7);
  options.stops = {"b b b"};
  EXPECT_THAT(Continue(model, {1}, options), ElementsAre(2, 2, 2));
  // The space before the first generated word can belong to a stop string.
  options.stops = {" b b"};
  EXPECT_THAT(Continue(model, {1}, options), ElementsAre(2, 2));
}

// A text that contains a stop string must be complete, and must compete with
// texts that continue.
TEST_F(GeneratorTest, ABeamCompletesTextsThatStop) {
  LanguageModel model = Make("block: 12");
  const absl::Span<float> bias = BiasAlone(model);
  std::fill(bias.begin(), bias.end(), -100.0F);
  bias[0] = std::log(0.6F);  // logit of a
  bias[1] = std::log(0.4F);  // logit of b
  GenerationOptions options;
  options.length = 4;
  options.stops = {"ab"};
  options.search.set_beam(3);
  options.search.set_n_best(2);
  options.search.set_length_penalty(0);
  const auto found = ContinueAll(model, {5}, options);
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].ids, ElementsAre(0, 1));
  EXPECT_NEAR(found[0].score, std::log(0.24), 1e-5);
  EXPECT_FALSE(found[0].finished);
  EXPECT_THAT(found[1].ids, ElementsAre(0, 0, 1));
  EXPECT_NEAR(found[1].score, std::log(0.144), 1e-5);
}

// Complete texts and truncated texts must compete by score.
TEST_F(GeneratorTest, ABeamCutsTextsAtTheLength) {
  LanguageModel model = Make("block: 12 examples: LINES");
  const SpecialIds special = model.vocabulary().special_ids();
  const absl::Span<float> bias = BiasAlone(model);
  std::fill(bias.begin(), bias.end(), -100.0F);
  bias[4] = std::log(0.8F);
  bias[special.end] = std::log(0.2F);
  GenerationOptions options;
  options.length = 3;
  options.search.set_beam(2);
  options.search.set_n_best(2);
  options.search.set_length_penalty(0);
  const auto found = ContinueAll(model, {special.begin}, options);
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].ids, ElementsAre(4, 4, 4));
  EXPECT_FALSE(found[0].finished);
  EXPECT_NEAR(found[0].score, std::log(0.512), 1e-5);
  EXPECT_THAT(found[1].ids, ElementsAre());
  EXPECT_TRUE(found[1].finished);
  EXPECT_NEAR(found[1].score, std::log(0.2), 1e-5);
}

}  // namespace
}  // namespace regard
