#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autodiff/tape.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kCanvases[] = "captions { train: 20 dev: 5 test: 15 side: 8 }";

absl::StatusOr<LoadedConfig> Load(const std::string& model,
                                  const std::string& data) {
  return LoadConfig(
      {"test.textproto",
       absl::StrCat("data { ", data, " }\nmodel { captioner { ", model,
                    " vision_transformer { patch: 4 transformer { width: 8 "
                    "layers: 1 attention { heads: 2 } } } decoder { width: 8 "
                    "layers: 1 attention { heads: 2 } } } }")},
      {}, BuiltInPlugins());
}

std::unique_ptr<Task> TaskOf(const std::string& model) {
  return BuildTask(Load(model, kCanvases)->config, BuiltInPlugins()).value();
}

TEST(CaptionsTaskTest, ShowsSentencesAndWhereWordsLook) {
  const std::unique_ptr<Task> task = TaskOf("");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  ASSERT_THAT(shown.samples.rows, SizeIs(12));
  EXPECT_TRUE(absl::StartsWith(shown.samples.rows[0].reference, "a "))
      << shown.samples.rows[0].reference;
  EXPECT_EQ(shown.samples.rows[11].input, "image 11");
  EXPECT_EQ(shown.samples.title, "Sentences of the test split");
  EXPECT_EQ(shown.samples.input, "image");
  EXPECT_THAT(shown.summary,
              StartsWith("Captions: 20 training images of 16 x 16 pixels, "));
  EXPECT_EQ(shown.heat_map_caption,
            "Attention: each word on the left looks at the quadrants above");
  ASSERT_THAT(shown.sections, SizeIs(6));
  const Section& section = shown.sections[0];
  EXPECT_TRUE(absl::StartsWith(section.title, "a picture of")) << section.title;
  EXPECT_TRUE(std::holds_alternative<AttentionCaution>(section.blocks.at(0)));
  const auto& pictures =
      std::get<std::vector<WeightedImage>>(section.blocks.at(2));
  ASSERT_FALSE(pictures.empty());
  EXPECT_EQ(pictures[0].rows, 4);
  EXPECT_THAT(pictures[0].weights, SizeIs(16));
  ASSERT_THAT(shown.heat_maps, SizeIs(6));
  EXPECT_EQ(shown.heat_maps[0].title, section.title);
  EXPECT_THAT(
      shown.heat_maps[0].columns,
      ElementsAre("top left", "top right", "bottom left", "bottom right"));
  EXPECT_EQ(shown.heat_maps[0].rows[0], pictures[0].title);
  EXPECT_THAT(std::get<std::string>(section.blocks.at(1)),
              StartsWith("Wrong. The canvas shows a picture of a "));
  EXPECT_THAT(shown.heat_maps[0].heads[0], SizeIs(4 * pictures.size()));
  EXPECT_EQ(shown.notes.at("test/pointing_accuracy"), "random guess: 0.250");
  // With uniform attention, the mass is less than 1/4, because the class token
  // receives a part of the attention.
  EXPECT_EQ(shown.notes.at("test/pointing_mass"), "uniform attention: 0.235");
  EXPECT_THAT(task->Files().at("vocabulary.txt"), HasSubstr("\nabove\n"));
}

// If `tokens` has no vocabulary, the tokens are the words of the data in lower
// case.
TEST(CaptionsTaskTest, SentencesMayBeSubwords) {
  const std::unique_ptr<Task> task = TaskOf("tokens {}");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  EXPECT_THAT(shown.summary, HasSubstr(" tokens."));
  ASSERT_THAT(shown.samples.rows, SizeIs(12));
  EXPECT_TRUE(absl::StartsWith(shown.samples.rows[0].reference, "a "));
  ASSERT_THAT(shown.heat_maps, SizeIs(6));
  EXPECT_TRUE(absl::StartsWith(shown.heat_maps[0].title, "a picture of"))
      << shown.heat_maps[0].title;
  EXPECT_THAT(task->Files().at("vocab.txt"), HasSubstr("\n[SEP]\n"));
}

TEST(CaptionsTaskTest, WithoutCrossAttentionThereAreNoMaps) {
  const std::unique_ptr<Task> task = TaskOf("cross_attention: false");
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  EXPECT_THAT(shown.samples.rows, SizeIs(12));
  EXPECT_THAT(shown.sections, SizeIs(0));
  EXPECT_THAT(shown.heat_maps, SizeIs(0));
}

TEST(CaptionsTaskTest, ErrorsAreLocated) {
  const auto error = [](const std::string& model, const std::string& data) {
    return std::string(Load(model, data).status().message());
  };
  EXPECT_EQ(error("", kCanvases), "");
  EXPECT_THAT(error("map_layer: 1", kCanvases),
              HasSubstr("test.textproto:2:21: error: "
                        "model.captioner.map_layer: "));
  EXPECT_THAT(error("", "captions { side: 3 }"),
              HasSubstr("test.textproto:1:19: error: data.captions.side: "));
  EXPECT_THAT(error("", "captions { side: 64 train: 100000 }"),
              HasSubstr("data.captions.train: makes 10"));
  EXPECT_EQ(error("", "captions { dev_fraction: 0.2 format {} }"), "");
  ConfigProblems problems;
  TaskOf("prompt: \"a view of\"")->ValidateData(problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "model.captioner.prompt");
  ConfigProblems no_file;
  TaskOf("tokens { vocabulary: '/no/file' }")->ValidateData(no_file);
  ASSERT_THAT(no_file.problems(), SizeIs(1));
  EXPECT_EQ(no_file.problems()[0].path, "model.captioner.tokens.vocabulary");
}

TEST(CaptionsTaskTest, FilesMayBeMissing) {
  const auto error = [](const std::string& data) {
    return std::string(
        BuildTask(Load("", data)->config, BuiltInPlugins()).status().message());
  };
  EXPECT_THAT(error("path: \"/no/folder\" captions { things: FASHION_MNIST }"),
              HasSubstr("tools/bazel run //configs:fashion_mnist_setup"));
  EXPECT_THAT(Load("", "path: \"/no/folder\" captions {}").status().message(),
              AllOf(HasSubstr(":1:"),
                    HasSubstr("data.path: does not apply to generated")));
}

}  // namespace
}  // namespace regard
