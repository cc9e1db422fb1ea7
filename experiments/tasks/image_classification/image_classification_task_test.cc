#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

absl::StatusOr<LoadedConfig> Load(const std::string& model,
                                  const std::string& data) {
  return LoadConfig(
      {"test.textproto",
       absl::StrCat("data { ", data, " }\nmodel { vision_transformer { ", model,
                    " transformer { width: 8 layers: 2 attention { heads: 2 } "
                    "} } }")},
      {}, BuiltInPlugins());
}

// Returns the error message of a config, or "" if it is valid.
std::string Error(const std::string& model, const std::string& data) {
  return std::string(Load(model, data).status().message());
}

std::unique_ptr<Task> TaskOf(
    const std::string& model,
    const std::string& data = "shapes { train: 20 dev: 10 test: 40 }") {
  return BuildTask(Load(model, data)->config, BuiltInPlugins()).value();
}

constexpr size_t kFirstLabel = 2;  // the label of the first image

TEST(ImageClassificationTaskTest, ShowsTheAttendedParts) {
  for (const char* pooling : {"CLASS_TOKEN", "MEAN"}) {
    const std::unique_ptr<Task> task =
        TaskOf(absl::StrCat("patch: 7 pooling: ", pooling));
    Tape<float> tape;
    Forward<float> forward(tape, task->model().parameters(), nullptr);
    const Showcase shown = task->Show(forward, /*final=*/true);
    ASSERT_THAT(shown.sections, SizeIs(3));
    const Section& rollout = shown.sections[1];
    EXPECT_EQ(rollout.title, "Attention rollout");
    EXPECT_TRUE(std::holds_alternative<AttentionCaution>(rollout.blocks.at(0)));
    const auto& pictures =
        std::get<std::vector<WeightedImage>>(rollout.blocks.at(2));
    ASSERT_THAT(pictures, SizeIs(12));
    const WeightedImage& picture = pictures[3];
    EXPECT_EQ(picture.rows, 4);
    ASSERT_THAT(picture.weights, SizeIs(16));
    double sum = 0;
    for (const double weight : picture.weights) sum += weight;
    // The sum does not include the weight of the class token itself, which is
    // at least one half.
    EXPECT_GT(sum, 0.2);
    EXPECT_LT(sum, 1 + 1e-6);
    if (pooling == std::string("MEAN")) {
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(shown.sections[2].title, "Top misses");
    ASSERT_THAT(shown.heat_maps, SizeIs(4));
    EXPECT_THAT(shown.heat_maps[0].heads, SizeIs(2));
    EXPECT_THAT(shown.heat_maps[0].heads[0], SizeIs(16));
    // Each row of the confusion matrix is the distribution of the predictions
    // for one class.
    const Maps& confusion = std::get<Maps>(shown.sections[0].blocks.at(0));
    ASSERT_THAT(confusion.maps, SizeIs(1));
    const std::vector<double>& shares = confusion.maps[0].heads[0];
    ASSERT_THAT(shares, SizeIs(64));
    for (int label = 0; label < 8; ++label) {
      double row = 0;
      for (int i = 0; i < 8; ++i) row += shares[label * 8 + i];
      EXPECT_TRUE(row == 0 || std::abs(row - 1) < 1e-9) << row;
    }
    EXPECT_THAT(shown.notes.at("test/accuracy"),
                HasSubstr("always the most frequent class: 0."));
    const Showcase glance = task->Show(forward, /*final=*/false);
    EXPECT_THAT(glance.sections, SizeIs(1));
  }
}

// The model predicts the class of the first image for all images.
TEST(ImageClassificationTaskTest, ShowsTheMostConfidentErrorsAndTheConfusion) {
  const std::unique_ptr<Task> task = TaskOf("patch: 7");
  ParameterStore<float>& store = task->model().parameters();
  store.value(*store.FindByName("head.bias"))[kFirstLabel] = 3;
  Tape<float> tape;
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const Showcase shown = task->Show(forward, /*final=*/true);
  EXPECT_EQ(shown.summary,
            "Image classification: 20 training images of 28 x 28 pixels, "
            "8 classes.");
  EXPECT_EQ(shown.samples.title, "Images of the test split");
  EXPECT_EQ(shown.samples.input, "image");
  ASSERT_THAT(shown.samples.rows, SizeIs(12));
  EXPECT_EQ(shown.samples.rows[11].input, "image 11");
  ASSERT_THAT(shown.heat_maps, SizeIs(4));
  EXPECT_EQ(shown.heat_maps[3].title,
            absl::StrCat("Last layer: where the readout of image 3 looks (",
                         shown.samples.rows[3].reference, ")"));
  EXPECT_THAT(shown.heat_maps[3].rows,
              ElementsAre("row 1", "row 2", "row 3", "row 4"));
  EXPECT_THAT(shown.heat_maps[3].columns, ElementsAre("1", "2", "3", "4"));
  const auto pictures = [&](size_t section) {
    return std::get<std::vector<WeightedImage>>(
        shown.sections[section].blocks[2]);
  };
  const std::vector<WeightedImage> images = pictures(1);
  size_t right = 0;
  for (size_t i = 0; i < 12; ++i) {
    const ExampleTexts& row = shown.samples.rows[i];
    const std::string& title = images[i].title;
    EXPECT_THAT(title, StartsWith(row.reference + ", "));
    EXPECT_EQ(absl::StrContains(title, ", predicted as " + row.output + ", 0."),
              row.output != row.reference);
    right += row.output == row.reference ? 1 : 0;
  }
  EXPECT_EQ(shown.samples.rows[0].output, shown.samples.rows[0].reference);
  EXPECT_LT(right, 12);
  const std::vector<double>& confusion =
      std::get<Maps>(shown.sections[0].blocks.at(0)).maps[0].heads[0];
  for (size_t label = 0; label < 8; ++label) {
    // Every class occurs in the 40 images.
    EXPECT_EQ(confusion[label * 8 + kFirstLabel], 1);
  }
  EXPECT_THAT(shown.sections[0].title,
              StartsWith("Confusion matrix: the fraction "));
  // Eight of the 40 images belong to the most frequent class.
  EXPECT_EQ(shown.notes.at("test/accuracy"),
            "always the most frequent class: 0.200");
  const std::vector<WeightedImage> misses = pictures(2);
  ASSERT_THAT(misses, SizeIs(24));
  double before = 1;
  for (const WeightedImage& miss : misses) {
    EXPECT_THAT(miss.title, HasSubstr(", predicted as "));
    const double probability =
        std::stod(miss.title.substr(miss.title.rfind(' ')));
    EXPECT_LE(probability, before);
    before = probability;
  }
}

TEST(ImageClassificationTaskTest, AConfigIsCheckedAgainstTheImages) {
  ConfigProblems problems;
  TaskOf("patch: 5")->ValidateData(problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "model.vision_transformer.patch");
  // The weights would take 256 MB.
  ConfigProblems huge;
  TaskOf("patch: 1024")->ValidateData(huge);
  EXPECT_THAT(huge.problems(), SizeIs(1));
}

TEST(ImageClassificationTaskTest, ErrorsAreLocated) {
  EXPECT_THAT(Error("patch: 0", "shapes {}"),
              HasSubstr("test.textproto:2:30: error: "
                        "model.vision_transformer.patch: "));
  EXPECT_THAT(Error("", "shapes { size: 3 }"),
              HasSubstr("test.textproto:1:17: error: data.shapes.size: "));
  EXPECT_THAT(Error("", "reverse {}"),
              HasSubstr("learns from labelled images, but data.reverse "
                        "provides sentence pairs. Data for this model: "
                        "fashion_mnist, images, shapes"));
  EXPECT_THAT(
      Error("", "path: \"a\" shapes {}"),
      HasSubstr("does not apply to generated data; remove it, or use data that "
                "reads a file: fashion_mnist, images, labelled_text"));
  // For fashion_mnist, the path is optional.
  EXPECT_EQ(Error("", "path: \"a\" fashion_mnist {}"), "");
  EXPECT_EQ(Error("", "fashion_mnist {}"), "");
}

}  // namespace
}  // namespace regard
