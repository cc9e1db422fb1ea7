#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "autodiff/tape.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::Key;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kBert[] =
    "types: 1 pooler: false transformer { width: 8 layers: 1 attention { "
    "heads: 2 } } ";

std::unique_ptr<Task> TaskOf(const std::string& data,
                             const std::string& vocabulary = "") {
  const auto loaded = LoadConfig(
      {"c.textproto",
       absl::StrCat("data { ", data, " } model { text_classifier { bert { ",
                    kBert, "masked_words { block: 16 ", vocabulary,
                    " } } } }")},
      {}, BuiltInPlugins());
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return BuildTask(loaded->config, BuiltInPlugins()).value();
}

Showcase ShowcaseOf(Task& task) {
  Tape<float> tape;
  Forward<float> forward(tape, task.model().parameters(), nullptr);
  return task.Show(forward, /*final=*/true);
}

TEST(TextClassificationTaskTest, ShowsTenTextsOfTheBestSplitThereIs) {
  const std::unique_ptr<Task> task =
      TaskOf("grammaticality { train: 30 dev: 20 test: 11 }");
  const Showcase shown = ShowcaseOf(*task);
  EXPECT_EQ(shown.summary,
            "Text classification: 30 training texts, 2 classes.");
  EXPECT_EQ(shown.samples.title, "Texts and their classes");
  EXPECT_EQ(shown.samples.input, "text");
  ASSERT_THAT(shown.samples.rows, SizeIs(10));
  for (const ExampleTexts& row : shown.samples.rows) {
    EXPECT_THAT(row.reference, ::testing::AnyOf("right", "wrong"));
  }
  EXPECT_TRUE(task->has_dev());
  EXPECT_THAT(task->Files(),
              UnorderedElementsAre(Pair("labels.txt", "right\nwrong\n"),
                                   Key("vocab.txt")));
  EXPECT_FALSE(
      TaskOf("grammaticality { train: 30 dev: 0 test: 1 }")->has_dev());
}

TEST(TextClassificationTaskTest, TheWordsOfTheTrainingTextsAreItsTokens) {
  const std::string path = JoinPath(::testing::TempDir(), "labelled.txt");
  ASSERT_TRUE(WriteFileAtomically(path, "l\tb a\n\nm\tc\nl\tnew\n").ok());
  const std::string data =
      absl::StrCat("path: '", path, "' labelled_text { dev_fraction: 0.34 }");
  const std::unique_ptr<Task> task = TaskOf(data);
  EXPECT_THAT(task->Notes(), SizeIs(1));  // the note is about the empty line
  EXPECT_EQ(task->Files().at("vocab.txt"),
            "[PAD]\n<unk>\n[CLS]\n[SEP]\n[MASK]\nb\na\nc\n");
  EXPECT_THAT(ShowcaseOf(*task).samples.rows, SizeIs(1));
  EXPECT_THAT(task->data_digests(), UnorderedElementsAre(Key("data.path")));
  const std::string vocabulary = JoinPath(::testing::TempDir(), "given.txt");
  ASSERT_TRUE(
      WriteFileAtomically(vocabulary, "[PAD]\n[UNK]\n[CLS]\n[SEP]\nq\n").ok());
  const std::unique_ptr<Task> given =
      TaskOf(data, absl::StrCat("vocabulary: '", vocabulary, "'"));
  EXPECT_THAT(given->data_digests(),
              UnorderedElementsAre(
                  Key("data.path"),
                  Key("model.text_classifier.bert.masked_words.vocabulary")));
}

TEST(TextClassificationTaskTest, ReportsUnreadableFiles) {
  const std::unique_ptr<Task> task =
      TaskOf("grammaticality { train: 30 dev: 20 test: 11 }",
             "vocabulary: '/no/vocabulary'");
  ConfigProblems problems;
  task->ValidateData(problems);
  ASSERT_FALSE(problems.ok());
  EXPECT_EQ(problems.problems()[0].path,
            "model.text_classifier.bert.masked_words.vocabulary");
  EXPECT_THAT(problems.problems()[0].message,
              ::testing::HasSubstr("/no/vocabulary: cannot open"));
}

}  // namespace
}  // namespace regard
