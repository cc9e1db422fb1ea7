#include <cmath>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autodiff/tape.h"
#include "experiments/config/reader.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/model.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::StatusOr<LoadedConfig> Load(const std::string& model,
                                  const std::string& data) {
  return LoadConfig(
      {"test.textproto",
       absl::StrCat("data { ", data, " }\nmodel { vision_transformer { ", model,
                    " transformer { width: 8 layers: 2 attention { heads: 2 } "
                    "} } }")},
      {}, BuiltInPlugins());
}

// Empty if there is none.
std::string Error(const std::string& model, const std::string& data) {
  return std::string(Load(model, data).status().message());
}

std::unique_ptr<Task> TaskOf(
    const std::string& model,
    const std::string& data = "shapes { train: 20 dev: 10 test: 40 }") {
  return BuildTask(Load(model, data)->config, BuiltInPlugins()).value();
}

TEST(ImageClassificationTaskTest, ShowsWhatItLooksAt) {
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
    const auto& pictures = std::get<std::vector<Picture>>(rollout.blocks.at(2));
    ASSERT_THAT(pictures, SizeIs(12));
    const Picture& picture = pictures[3];
    EXPECT_EQ(picture.rows, 4);
    ASSERT_THAT(picture.weights, SizeIs(16));
    double sum = 0;
    for (const double weight : picture.weights) sum += weight;
    // Without the class token's own share of a half at least.
    EXPECT_GT(sum, 0.2);
    EXPECT_LT(sum, 1 + 1e-6);
    if (pooling == std::string("MEAN")) {
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(shown.sections[2].title, "Top misses");
    ASSERT_THAT(shown.heat_maps, SizeIs(4));
    EXPECT_THAT(shown.heat_maps[0].heads, SizeIs(2));
    EXPECT_THAT(shown.heat_maps[0].heads[0], SizeIs(16));
    // Rows of the confusion are shares of a class.
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
                HasSubstr("of the most frequent class: 0."));
    const Showcase glance = task->Show(forward, /*final=*/false);
    EXPECT_THAT(glance.sections, SizeIs(1));
  }
}

TEST(ImageClassificationTaskTest, AConfigIsCheckedAgainstTheImages) {
  ConfigProblems problems;
  TaskOf("patch: 5")->ValidateData(problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "model.vision_transformer.patch");
  // Its weights would be 256 MB.
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
              HasSubstr("learns from labelled images, but data.reverse gives "
                        "sentence pairs; data that fits it: fashion_mnist, "
                        "shapes"));
  EXPECT_THAT(Error("", "path: \"a\" shapes {}"),
              HasSubstr("this data is generated; a file is read by: "
                        "fashion_mnist, labelled_text"));
  // A path may be given, or not.
  EXPECT_EQ(Error("", "path: \"a\" fashion_mnist {}"), "");
  EXPECT_EQ(Error("", "fashion_mnist {}"), "");
}

}  // namespace
}  // namespace regard
