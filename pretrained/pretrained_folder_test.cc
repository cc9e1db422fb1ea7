// Tests the settings of data and models that start from a folder, for each
// architecture.
#include "pretrained/pretrained_folder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

PretrainedRun Read(const std::string& name) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  auto folder =
      ReadPretrainedRun(absl::StrCat("pretrained/testdata/", name), scorers);
  EXPECT_THAT(folder, IsOk());
  return *std::move(folder);
}

TEST(PretrainedRunTest, EachModelOfItsKindCanBeginWithAFolder) {
  const struct {
    const char* folder;
    const char* model;
    const char* part;
  } kCases[] = {
      {"bert", "bert", "model { bert {\ntransformer {\n  width: 8"},
      {"bert", "text_classifier", "model { text_classifier {\nbert {"},
      {"bert", "text_embedder", "model { text_embedder {\nbert {"},
      {"bert", "", "model { text_embedder {\nbert {"},
      {"bert_classifier", "text_embedder", "model { text_embedder {\nbert {"},
      {"bert_classifier", "", "pooling: POOLER"},
      {"gpt2", "language_model", "unit: BYTE_PAIRS"},
      {"blip", "captioner", "ids: 22"},
      {"vit", "vision_transformer", "patch: 4"},
      {"timm", "vision_transformer", "patch: 3"},
  };
  for (const auto& [folder, model, part] : kCases) {
    const auto text = Read(folder).BaseConfig("", model);
    ASSERT_THAT(text, IsOk());
    EXPECT_THAT(*text, AllOf(HasSubstr(part), Not(HasSubstr("data {"))))
        << folder;
  }
}

TEST(PretrainedRunTest, SaysHowImagesAreRead) {
  for (const auto& [folder, data] :
       {std::pair("vit", "images"), std::pair("timm", "images"),
        std::pair("blip", "captions")}) {
    const PretrainedRun read = Read(folder);
    const auto text = read.BaseConfig(data, "");
    ASSERT_THAT(text, IsOk());
    EXPECT_THAT(*text, HasSubstr(absl::StrCat("data { ", data,
                                              " {\nformat {\nheight: ")));
    EXPECT_THAT(*text, Not(HasSubstr("fraction")));
    EXPECT_THAT(read.BaseConfig("fashion_mnist", "").value(),
                Not(HasSubstr("data {")));
  }
}

TEST(PretrainedRunTest, NamesTheModelsThatItBegins) {
  EXPECT_THAT(
      Read("bert").BaseConfig("", "captioner"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "has no weights for model.captioner, only for model.bert, "
               "model.text_classifier, model.text_embedder"));
}

TEST(PretrainedRunTest, WeightsFixTheTokenizerOptions) {
  for (const char* folder : {"bert", "bert_classifier", "blip"}) {
    const PretrainedRun read = Read(folder);
    EXPECT_FALSE(read.fixed.empty());
    for (const auto& [field, file] : read.fixed) {
      EXPECT_THAT(file, StartsWith("pretrained/testdata/"));
      EXPECT_THAT(file, HasSubstr("/tokenizer_config.json")) << field;
    }
  }
}

TEST(PretrainedRunTest, AFolderWithARunIsARun) {
  const std::string folder = ::testing::TempDir() + "/both";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << "{}";
  EXPECT_TRUE(ContainsPretrainedModel(folder));
  std::ofstream(folder + "/resolved.textproto") << "seed: 1";
  EXPECT_FALSE(ContainsPretrainedModel(folder));
}

}  // namespace
}  // namespace regard
