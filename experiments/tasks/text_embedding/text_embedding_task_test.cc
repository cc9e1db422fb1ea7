#include <memory>
#include <string>
#include <vector>

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
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Makes a task of twelve pairs. The first `train` pairs are the training split.
// The remaining pairs are dev and test.
std::unique_ptr<Task> TaskOf(int train, const std::string& more = "",
                             const std::vector<std::string>& overrides = {}) {
  const std::string path = JoinPath(::testing::TempDir(), "pairs.txt");
  std::string lines;
  for (int i = 0; i < 12; ++i) absl::StrAppend(&lines, "a b\tc", i, "\t0.5\n");
  EXPECT_TRUE(WriteFileAtomically(path, lines).ok());
  const auto loaded = LoadConfig(
      {"c.textproto",
       absl::StrCat("data { path: '", path,
                    "' scored_pairs { dev_fraction: ", (12 - train) / 12.0,
                    " } } model { text_embedder { bert { transformer { width: "
                    "8 layers: 1 attention { heads: 2 } } } ",
                    more, " } }")},
      overrides, BuiltInPlugins());
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return BuildTask(loaded->config, BuiltInPlugins()).value();
}

TEST(TextEmbeddingTaskTest, ShowsTenPairs) {
  const std::unique_ptr<Task> task = TaskOf(/*train=*/1);
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  EXPECT_EQ(shown.summary, "Sentence embeddings: 1 training pairs.");
  EXPECT_EQ(shown.samples.title,
            "Pairs, their gold scores and their similarities");
  EXPECT_EQ(shown.samples.input, "texts");
  ASSERT_THAT(shown.samples.rows, SizeIs(10));
  EXPECT_EQ(shown.samples.rows[9].input, "a b | c10");
  EXPECT_EQ(shown.samples.rows[9].reference, "0.5");
  EXPECT_TRUE(task->has_dev());
  EXPECT_FALSE(TaskOf(/*train=*/12)->has_dev());
  // The vocabulary must contain only the words of the training pairs.
  EXPECT_EQ(task->Files().at("vocab.txt"),
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc0\n");
}

TEST(TextEmbeddingTaskTest, AVocabularyIsReadAndHasADigest) {
  const std::string path = JoinPath(::testing::TempDir(), "given.txt");
  ASSERT_TRUE(
      WriteFileAtomically(path, "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n").ok());
  const std::unique_ptr<Task> task =
      TaskOf(1, absl::StrCat("tokens { vocabulary: '", path, "' }"));
  EXPECT_THAT(
      task->data_digests(),
      UnorderedElementsAre(Key("data.path"),
                           Key("model.text_embedder.tokens.vocabulary")));
  ConfigProblems problems;
  task->ValidateData(problems);
  EXPECT_TRUE(problems.ok());
  TaskOf(1, "tokens { vocabulary: '/no/vocabulary' }")->ValidateData(problems);
  ASSERT_FALSE(problems.ok());
  EXPECT_EQ(problems.problems()[0].path,
            "model.text_embedder.tokens.vocabulary");
}

TEST(TextEmbeddingTaskTest, HasNoLabelsToSmooth) {
  ConfigProblems problems;
  TaskOf(1, "", {"loss.label_smoothing=0.1"})->ValidateData(problems);
  EXPECT_TRUE(problems.ok());
  ASSERT_THAT(problems.notes(), SizeIs(1));
  EXPECT_EQ(problems.notes()[0],
            "loss.label_smoothing: has no effect: similarities are not "
            "classes");
}

}  // namespace
}  // namespace regard
