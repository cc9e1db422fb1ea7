#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
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

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kTransformer[] =
    " transformer { width: 8 layers: 2 attention { heads: 2 } } ";

std::string Write(const std::string& name, absl::string_view text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::unique_ptr<Task> TaskOf(const std::string& data,
                             const std::string& masked) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("data { ", data, " } model { bert { masked_words { ", masked,
                   " } ", kTransformer, " } }"),
      &config));
  auto task = BuildTask(config, BuiltInPlugins());
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

std::vector<std::string> MeasuredBy(Task& task) {
  Tape<float> tape;
  Forward<float> forward(tape, task.model().parameters(), nullptr);
  std::vector<std::string> names;
  for (const auto& [name, value] :
       MetricsOf(task.model().Evaluate(forward, Split::kDev))) {
    EXPECT_NE(FindMetric(task.metrics(), name), nullptr) << name;
    names.push_back(name);
  }
  return names;
}

TEST(MaskedWordsTaskTest, ReportsItsDeclaredMetrics) {
  constexpr char kGrammar[] = "grammar { train: 60 dev: 20 test: 0 }";
  EXPECT_THAT(MeasuredBy(*TaskOf(kGrammar, "block: 32")),
              ::testing::ElementsAre("loss", "token_accuracy", "unigram_loss"));
  EXPECT_THAT(MeasuredBy(*TaskOf(kGrammar, "block: 32 next_sentence: true")),
              SizeIs(5));
}

TEST(MaskedWordsTaskTest, ShowsWordsAndMaps) {
  const std::unique_ptr<Task> task =
      TaskOf("grammar { train: 60 dev: 20 test: 0 }", "block: 32");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase showcase = task->Show(forward, /*final=*/true);
  EXPECT_THAT(showcase.summary, HasSubstr(" training tokens, "));
  EXPECT_EQ(showcase.samples.title, "Masked words");
  EXPECT_EQ(showcase.samples.input, "text");
  ASSERT_THAT(showcase.samples.rows, SizeIs(5));
  EXPECT_NE(showcase.samples.rows[0].input, showcase.samples.rows[4].input);
  EXPECT_THAT(showcase.samples.rows[0].input, HasSubstr("[MASK]"));
  EXPECT_NE(showcase.samples.rows[0].reference, "");
  ASSERT_THAT(showcase.heat_maps, SizeIs(2));
  const LabelledMatrix& map = showcase.heat_maps[1];
  EXPECT_EQ(map.rows[0], "[CLS]");
  ASSERT_THAT(map.heads, SizeIs(2));
  EXPECT_THAT(map.heads[0], SizeIs(map.rows.size() * map.columns.size()));
  EXPECT_EQ(task->Files().count("vocab.txt"), 1);
}

TEST(MaskedWordsTaskTest, MapsHaveTheFirst32Tokens) {
  const std::unique_ptr<Task> task =
      TaskOf("grammar { train: 60 dev: 20 test: 0 }", "block: 40");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase showcase = task->Show(forward, /*final=*/true);
  const LabelledMatrix& map = showcase.heat_maps[0];
  ASSERT_THAT(map.rows, SizeIs(32));
  EXPECT_EQ(map.columns, map.rows);
  EXPECT_EQ(map.title,
            absl::StrCat("bert.0.self: ", absl::StrJoin(map.rows.begin() + 1,
                                                        map.rows.end(), " ")));
}

TEST(MaskedWordsTaskTest, ShowsNoTextWithoutWordsToPredict) {
  const std::string train = Write("known.txt", "a b c a b c\n");
  const std::string dev = Write("partly_known.txt", "u v w x y z a b c\n");
  const std::unique_ptr<Task> task =
      TaskOf(absl::StrCat("path: \"", train, "\" dev_path: \"", dev,
                          "\" text { dev_fraction: 0.9 }"),
             "block: 8");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase showcase = task->Show(forward, /*final=*/true);
  ASSERT_THAT(showcase.samples.rows, SizeIs(1));
  EXPECT_NE(showcase.samples.rows[0].reference, "");
  ASSERT_THAT(showcase.heat_maps, SizeIs(2));
  // The rows are [CLS], three words and [SEP].
  EXPECT_THAT(showcase.heat_maps[0].rows, SizeIs(5));
}

TEST(MaskedWordsTaskTest, ReadsTextDevAndVocabulary) {
  const std::string train = Write("train.txt", "a b c\nb c a\n");
  const std::string dev = Write("dev.txt", "c b a d\n");
  const std::string pieces =
      Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##d\n");
  const auto files = absl::StrCat("path: \"", train, "\" dev_path: \"", dev,
                                  "\" text { dev_fraction: 0.9 }");
  const std::unique_ptr<Task> words = TaskOf(files, "block: 8");
  EXPECT_EQ(words->model().num_examples(), 1);
  EXPECT_THAT(MeasuredBy(*words), SizeIs(3));
  EXPECT_EQ(words->data_digests().count("data.dev_path"), 1);
  EXPECT_THAT(words->Files().at("vocab.txt"), HasSubstr("[MASK]\na\nb\nc\n"));
  const std::unique_ptr<Task> subwords = TaskOf(
      files,
      absl::StrCat("block: 8 whole_words: true vocabulary: \"", pieces, "\""));
  EXPECT_THAT(subwords->Files().at("vocab.txt"), HasSubstr("##d"));
  EXPECT_THAT(subwords->data_digests(), SizeIs(3));
}

std::string ProblemsOf(const Task& task) {
  ConfigProblems problems;
  task.ValidateData(problems);
  std::string text;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    absl::StrAppend(&text, problem.path, ": ", problem.message, "\n");
  }
  return text;
}

TEST(MaskedWordsTaskTest, ReportsDataThatDoesNotFit) {
  constexpr char kGrammar[] = "grammar { train: 9 }";
  EXPECT_EQ(ProblemsOf(*TaskOf(kGrammar, "")), "");
  EXPECT_THAT(ProblemsOf(*TaskOf(kGrammar, "block: 600")),
              HasSubstr("model.bert.masked_words.block: must be at most"));
  EXPECT_THAT(
      ProblemsOf(*TaskOf(kGrammar, "vocabulary: \"nowhere.txt\"")),
      HasSubstr("model.bert.masked_words.vocabulary: nowhere.txt: cannot"));
  const std::string spoiled = Write("spoiled.txt", "[UNK]\na\na\n");
  EXPECT_THAT(ProblemsOf(*TaskOf(
                  kGrammar, absl::StrCat("vocabulary: \"", spoiled, "\""))),
              HasSubstr("spoiled.txt:3: error: token 'a' must occur only once, "
                        "but is already on line 2"));
}

// Returns the error message of a config, or "" if it is valid.
std::string ErrorOf(const std::string& text) {
  const auto loaded = LoadConfig({"a.textproto", text}, {}, BuiltInPlugins());
  return loaded.ok() ? "" : std::string(loaded.status().message());
}

TEST(MaskedWordsTaskTest, UnfitFieldsAreErrorsAtTheirLines) {
  EXPECT_EQ(ErrorOf("data { grammar {} }\nmodel { bert {} }\n"), "");
  EXPECT_THAT(ErrorOf("data { grammar {} }\n"
                      "model { bert { masked_words { share: 1 } } }\n"),
              HasSubstr("a.textproto:2:31: error: "));
  EXPECT_THAT(ErrorOf("data { grammar {} }\n"
                      "model { bert { transformer { width: 7 } } }\n"),
              HasSubstr("a.textproto:2:"));
  EXPECT_THAT(ErrorOf("data { grammar {} dev_path: \"a\" }\n"
                      "model { bert {} }\n"),
              HasSubstr("a.textproto:1:19: error: data.dev_path: is not "
                        "read by `grammar`; remove it, or use data that reads "
                        "it: text"));
  EXPECT_THAT(ErrorOf("data { reverse {} }\nmodel { bert {} }\n"),
              HasSubstr("learns from text, but"));
}

}  // namespace
}  // namespace regard
