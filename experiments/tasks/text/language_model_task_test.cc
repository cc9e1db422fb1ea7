#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autodiff/tape.h"
#include "data/text/byte_pairs.h"
#include "data/text/testing/byte_pairs_text.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "files/utf8.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "options/config_problems.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kTransformer[] =
    " transformer { width: 8 layers: 2 attention { heads: 2 } } ";

std::unique_ptr<Task> TaskOf(const std::string& data,
                             const std::string& model) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("data { ", data, " } model { language_model { ", model,
                   kTransformer, " } }"),
      &config));
  auto task = BuildTask(config, BuiltInPlugins());
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

TEST(LanguageModelTaskTest, ShowsContinuationsMapsAndTheEntropy) {
  for (const char* model :
       {"block: 300 examples: LINES", "block: 16", "block: 16 unit: WORDS"}) {
    const std::unique_ptr<Task> task =
        TaskOf("grammar { train: 30 dev: 10 test: 0 }", model);
    Tape<float> tape;
    Forward<float> forward(tape, task->model().parameters(), nullptr);
    const Showcase showcase = task->Show(forward, /*final=*/true);
    ASSERT_THAT(showcase.samples.rows, SizeIs(5)) << model;
    for (const ExampleTexts& sample : showcase.samples.rows) {
      EXPECT_EQ(sample.output.find('\n'), std::string::npos);
    }
    // There must be one map for each layer, with two heads.
    ASSERT_THAT(showcase.heat_maps, SizeIs(2));
    const LabelledMatrix& map = showcase.heat_maps[0];
    ASSERT_THAT(map.heads, SizeIs(2));
    const size_t ids = map.rows.size();
    ASSERT_THAT(map.heads[0], SizeIs(ids * ids));
    for (size_t row = 0; row < ids; ++row) {
      double sum = 0;
      for (size_t i = 0; i < ids; ++i) sum += map.heads[1][row * ids + i];
      EXPECT_NEAR(sum, 1, 1e-5);
      if (row + 1 < ids) {
        EXPECT_EQ(map.heads[1][row * ids + row + 1], 0);
      }
    }
    if (absl::StrContains(model, "WORDS")) {
      EXPECT_THAT(showcase.notes, IsEmpty());
    } else {
      // The second number is the first divided by log(2).
      EXPECT_THAT(
          showcase.notes,
          ElementsAre(
              Pair("dev/bits_per_character", "entropy of the grammar: 0.5044"),
              Pair("dev/loss", "entropy of the grammar: 0.3496"),
              Pair("test/bits_per_character", "entropy of the grammar: 0.5044"),
              Pair("test/loss", "entropy of the grammar: 0.3496")));
    }
    EXPECT_THAT(task->Files(), SizeIs(1));
  }
}

std::string Characters(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = first; i < first + count; ++i) {
    AppendUtf8(0x10000 + static_cast<char32_t>(i % 100), &text);
  }
  return text;
}

// Prompts must begin at each fifth of the text. A prompt must have the length
// of half a block, but at most 32 characters and at most the rest of the text.
TEST(LanguageModelTaskTest, ContinuesPromptsFromEachFifthOfTheText) {
  const std::pair<int64_t, std::vector<int64_t>> cases[] = {
      {16, {8, 8, 8, 8, 8}}, {100, {32, 32, 32, 32, 21}}, {1, {1, 1, 1, 1, 1}}};
  for (const auto& [block, lengths] : cases) {
    const std::unique_ptr<Task> task =
        TaskOf("placeholder_text { vocabulary: 100 characters: 102 }",
               absl::StrCat("block: ", block));
    Tape<float> tape;
    Forward<float> forward(tape, task->model().parameters(), nullptr);
    const Showcase shown = task->Show(forward, /*final=*/true);
    EXPECT_EQ(shown.summary,
              "Language model: 102 training ids, 100 different "
              "characters.");
    EXPECT_EQ(shown.samples.title,
              "Continuations of at most 120 ids at temperature 0.8");
    EXPECT_EQ(shown.samples.input, "beginning");
    ASSERT_THAT(shown.samples.rows, SizeIs(5));
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(shown.samples.rows[i].input,
                Characters(102 * i / 5, lengths[i]));
      // The output has 120 characters of 4 bytes each.
      EXPECT_THAT(shown.samples.rows[i].output, SizeIs(480));
    }
    EXPECT_EQ(shown.heat_maps[0].title,
              "decoder.0.self: " + shown.samples.rows[0].input);
  }
}

TEST(LanguageModelTaskTest, DeclaresItsMetrics) {
  const std::unique_ptr<Task> task =
      TaskOf("grammar { train: 30 dev: 10 test: 10 }", "block: 16");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const auto metrics = MetricsOf(task->model().Evaluate(forward, Split::kDev));
  EXPECT_THAT(metrics, SizeIs(4));
  for (const auto& [name, value] : metrics) {
    EXPECT_NE(FindMetric(task->metrics(), name), nullptr) << name;
  }
}

std::string ProblemsOf(const std::string& data, const std::string& model) {
  ConfigProblems problems;
  TaskOf(data, model)->ValidateData(problems);
  std::string text;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    absl::StrAppend(&text, problem.path, ": ", problem.message, "\n");
  }
  return text;
}

TEST(LanguageModelTaskTest, ReportsDataThatDoesNotFit) {
  EXPECT_EQ(ProblemsOf("grammar { train: 30 }", "block: 32"), "");
  EXPECT_THAT(ProblemsOf("grammar { train: 30 }", "block: 9 examples: LINES"),
              HasSubstr("model.language_model.block: must be at least "));
  EXPECT_EQ(ProblemsOf("placeholder_text { vocabulary: 3 characters: 9 }",
                       "block: 9"),
            "model.language_model.block: requires 10 ids to train on; the text "
            "has 9\n");
}

// The default token may be missing from the tokenizer if no line needs it.
TEST(LanguageModelTaskTest, NamedTokensMustBeThere) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(JoinPath(folder, "tokenizer.json"))
      << absl::StrReplaceAll(BytePairsText({}), {{"<|endoftext|>", "<end>"}});
  const auto problems_of = [&](const std::string& tokens) {
    return ProblemsOf("grammar { train: 30 dev: 0 test: 0 }",
                      absl::StrCat("block: 300 unit: BYTE_PAIRS tokens { ",
                                   "folder: '", folder, "' ", tokens));
  };
  const std::string missing =
      absl::StrCat(": must be a token of ", folder, "; got '");
  constexpr char kTokens[] = "model.language_model.tokens.";
  EXPECT_EQ(problems_of("}"), "");
  EXPECT_EQ(problems_of("begin: '<end>' end: '<end>' } examples: LINES"), "");
  EXPECT_EQ(problems_of("end: '<typo>' }"),
            absl::StrCat(kTokens, "end", missing, "<typo>'\n"));
  EXPECT_EQ(problems_of("end: '<end>' } examples: LINES"),
            absl::StrCat(kTokens, "begin", missing, "<|endoftext|>'\n"));
  EXPECT_THAT(ProblemsOf("grammar { train: 30 }",
                         "unit: BYTE_PAIRS tokens { folder: 'nowhere' }"),
              StartsWith(absl::StrCat(kTokens, "folder: nowhere/vocab.json")));
}

TEST(LanguageModelTaskTest, SubwordsComeFromAFolder) {
  const std::string folder = ::testing::TempDir();
  const std::string model = absl::StrCat(
      "block: 16 unit: BYTE_PAIRS tokens { folder: '", folder, "' }");
  std::ofstream(JoinPath(folder, "tokenizer.json"))
      << BytePairsText({{"t", "h"}, {"th", "e"}});
  const auto task = TaskOf("grammar { train: 30 dev: 10 test: 0 }", model);
  ConfigProblems problems;
  task->ValidateData(problems);
  EXPECT_TRUE(problems.ok());
  EXPECT_THAT(task->Files(),
              ElementsAre(Pair("tokenizer.json",
                               ReadBytePairs(folder).value().ToText())));
  EXPECT_THAT(task->data_digests(),
              ElementsAre(Pair("model.language_model.tokens.folder", _)));
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  EXPECT_THAT(shown.summary, HasSubstr(", 259 different subwords."));
  // The entropy of the grammar is per character, so it does not apply to words.
  EXPECT_THAT(shown.notes, IsEmpty());

  std::ofstream(JoinPath(folder, "tokenizer.json")) << "{";
  const auto broken = TaskOf("grammar { train: 30 }", model);
  broken->ValidateData(problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].path, "model.language_model.tokens.folder");
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("tokenizer.json:1:2: error: not JSON"));
}

// Returns the error message of a config, or "" if it is valid.
std::string ErrorOf(const std::string& text) {
  const auto loaded = LoadConfig({"a.textproto", text}, {}, BuiltInPlugins());
  return loaded.ok() ? "" : std::string(loaded.status().message());
}

TEST(LanguageModelTaskTest, UnfitFieldsAreErrorsAtTheirLines) {
  EXPECT_EQ(ErrorOf("data { grammar {} }\n"
                    "model { language_model { block: 8 } }\n"),
            "");
  EXPECT_THAT(ErrorOf("data { grammar {} }\n"
                      "model { language_model { block: 0 } }\n"),
              HasSubstr("a.textproto:2:26: error: "));
  EXPECT_THAT(
      ErrorOf("data { grammar {} }\n"
              "model {\n"
              "  language_model { transformer { attention { heads: 7 } } }\n"
              "}\n"),
      HasSubstr("a.textproto:3:"));
  EXPECT_THAT(ErrorOf("data { text {} }\nmodel { language_model {} }\n"),
              HasSubstr("path"));
  EXPECT_THAT(
      ErrorOf("data { path: \"a\" text { dev_fraction: 0.6\n"
              "  test_fraction: 0.5 } }\n"
              "model { language_model {} }\n"),
      HasSubstr("a.textproto:2:3: error: data.text.test_fraction: leaves"));
  EXPECT_THAT(ErrorOf("data { reverse {} }\nmodel { language_model {} }\n"),
              HasSubstr("learns from text, but"));
  EXPECT_THAT(ErrorOf("data { grammar {} }\n"
                      "model { language_model {} encoder {} }\n"),
              HasSubstr("a.textproto:2:27: error: "));
}

}  // namespace
}  // namespace regard
