#include "pretrained/vit_folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/images/image_format.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "evaluation/prediction.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "nn/testing/parity.h"
#include "optimization/model.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_matchers.h"
#include "vision/image_classifier.h"
#include "vision/vision_transformer.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// tools/parity/write_vit_fixtures.py wrote the folders.
std::string Path(const std::string& name) {
  return absl::StrCat("pretrained/testdata/", name);
}

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

VitNames NamesOf(const std::string& folder) {
  return folder.find("timm") == std::string::npos ? VitNames::kTransformers
                                                  : VitNames::kTimm;
}

absl::StatusOr<VitFolder> Open(const std::string& path) {
  return OpenVitFolder(path, NamesOf(path), Scorers());
}

ImageClassifier ClassifierOf(const VitDescription& description) {
  ImageSplits none;
  none.train.shape = ShapeOf(description.format);
  none.train.format = description.format;
  none.classes = description.classes;
  return ImageClassifier(description.config, Scorers(), std::move(none), {});
}

class VitParityTest : public ::testing::TestWithParam<std::string> {};

// Compares tokens and logits, and all gradients of a weighted sum of the tokens
// and logits. The tolerance is 1e-5.
TEST_P(VitParityTest, ValuesAndGradients) {
  const Fixture fixture("values", Path(GetParam()));
  const absl::StatusOr<VitFolder> folder = Open(Path(GetParam()));
  ASSERT_THAT(folder, IsOk());
  const VitDescription& description = folder->description;
  const bool head = GetParam() != "vit_headless";
  ParameterStore<float> store;
  const VisionTransformer<float> encoder(description.config,
                                         ShapeOf(description.format), Scorers(),
                                         store.Root().Sub("encoder"));
  std::optional<LinearLayer<float>> output;
  if (head) {
    output.emplace(store.Root().Sub("head"),
                   description.config.transformer().width(),
                   static_cast<int64_t>(description.classes.size()));
  }
  store.Finalize(/*seed=*/0);
  // A folder without a head has no weights for the model's head.
  std::vector<std::string> kept;
  ASSERT_THAT(folder->LoadWeights(store, head ? nullptr : &kept), IsOk());
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
  const auto add = [&](const std::string& name, Var<float> y) {
    ExpectParity(y.span(), fixture[name], name);
    const std::vector<float> weights = fixture.Floats(name + ".weights");
    y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  };
  const Var<float> tokens = encoder(forward, x);
  if (head) add("logits", (*output)(forward, encoder.Pool(tokens)));
  add("tokens", tokens);
  forward.Backward({}, {});
  ExpectParameterGradients(fixture, store, gradients);
  ExpectParity(Grad(x), fixture["grad.x"], "grad.x");
}

INSTANTIATE_TEST_SUITE_P(Folders, VitParityTest,
                         ::testing::Values("vit", "vit_grey", "vit_headless",
                                           "timm", "timm_gap"));

// Images must be resized, cropped and normalized as the folder specifies.
TEST(VitFolderTest, ProbabilitiesOfFilesMatchTheLibrary) {
  for (const char* name : {"vit", "vit_grey", "timm", "timm_gap"}) {
    const Fixture fixture("values", Path(name));
    const absl::StatusOr<VitFolder> folder = Open(Path(name));
    ASSERT_THAT(folder, IsOk());
    ImageClassifier model = ClassifierOf(folder->description);
    ASSERT_THAT(folder->LoadWeights(model.parameters()), IsOk());
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    const auto prediction =
        model.Predict(forward, {.text = Path("image.png")}, {});
    ASSERT_THAT(prediction, IsOk());
    const std::vector<std::string>& classes = folder->description.classes;
    ASSERT_EQ(prediction->choices[0].size(), classes.size());
    for (const auto& [choice, probability] : prediction->choices[0]) {
      const auto i = std::ranges::find(classes, choice) - classes.begin();
      EXPECT_NEAR(probability, fixture["probabilities"].values[i], 1e-5)
          << name << " " << choice;
    }
  }
}

TEST(VitFolderTest, ReadsConfigs) {
  const VitDescription vit = Open(Path("vit"))->description;
  EXPECT_THAT(vit.classes, ElementsAre("tabby cat", "dog", "caf\u00e9"));
  EXPECT_EQ(vit.format.filter(), ImageFormat::BILINEAR);
  EXPECT_FALSE(vit.format.crop());
  EXPECT_EQ(vit.format.mean().blue(), 0.406);
  EXPECT_EQ(vit.format.deviation().red(), 0.229);
  EXPECT_EQ(vit.config.transformer().norm().epsilon(), 1e-12);
  const VitDescription grey = Open(Path("vit_grey"))->description;
  EXPECT_THAT(grey.classes, ElementsAre("LABEL_0", "LABEL_1"));
  EXPECT_TRUE(grey.format.grey());
  EXPECT_EQ(grey.format.width(), 6);
  EXPECT_EQ(grey.format.mean().red(), 0);
  EXPECT_EQ(grey.format.deviation().red(), 1);
  EXPECT_FALSE(grey.config.transformer().attention().bias());
  const VitDescription timm = Open(Path("timm"))->description;
  EXPECT_THAT(timm.classes, ElementsAre("tabby cat", "dog", "bird"));
  EXPECT_EQ(timm.format.shorter_side(), 10);
  EXPECT_EQ(timm.config.transformer().feed_forward().hidden(), 32);
  const VitDescription gap = Open(Path("timm_gap"))->description;
  EXPECT_EQ(gap.config.pooling(), VisionTransformerConfig::MEAN);
  EXPECT_EQ(gap.config.transformer().feed_forward().hidden(), 25);
  EXPECT_FALSE(gap.format.crop());
}

TEST(VitFolderTest, AHeadMayBeMissingOrLeftOut) {
  const absl::StatusOr<VitFolder> headless = Open(Path("vit_headless"));
  ASSERT_THAT(headless, IsOk());
  ImageClassifier model = ClassifierOf(headless->description);
  EXPECT_THAT(
      headless->LoadWeights(model.parameters()).message(),
      HasSubstr("the tensor 'classifier.weight', F32 [2, 6], is missing"));
}

// The folder has the classes tabby cat, dog and bird. A model with two of these
// classes must get their rows of the head.
TEST(VitFolderTest, AHeadIsMadeForTheClassesOfTheData) {
  const absl::StatusOr<VitFolder> folder = Open(Path("timm"));
  ASSERT_THAT(folder, IsOk());
  ImageClassifier model = ClassifierOf(folder->description);
  ASSERT_THAT(folder->LoadWeights(model.parameters()), IsOk());
  const auto values = [](ImageClassifier& of, const std::string& name) {
    return of.parameters().value(*of.parameters().FindByName(name));
  };
  VitDescription description = folder->description;
  description.classes = {"bird", "tabby cat"};
  ImageClassifier two = ClassifierOf(description);
  std::vector<std::string> kept;
  ASSERT_THAT(folder->LoadWeightsForClasses(description.classes,
                                            two.parameters(), &kept),
              IsOk());
  EXPECT_THAT(kept, IsEmpty());
  for (const char* name : {"head.weight", "head.bias"}) {
    const auto from = values(model, name);
    const size_t size = from.size() / 3;
    std::vector<float> wanted(from.begin() + 2 * size, from.end());
    wanted.insert(wanted.end(), from.begin(), from.begin() + size);
    EXPECT_TRUE(std::ranges::equal(values(two, name), wanted)) << name;
  }
  EXPECT_TRUE(std::ranges::equal(values(two, "encoder.class_token"),
                                 values(model, "encoder.class_token")));
}

TEST(VitFolderTest, AHeadOfOtherClassesKeepsItsValues) {
  for (const char* name : {"vit_headless", "timm"}) {
    const absl::StatusOr<VitFolder> folder = Open(Path(name));
    VitDescription description = folder->description;
    description.classes = {"dog", "b", "c", "d"};
    ImageClassifier other = ClassifierOf(description);
    ParameterStore<float>& store = other.parameters();
    const auto head = store.value(*store.FindByName("head.weight"));
    const std::vector<float> before(head.begin(), head.end());
    std::vector<std::string> kept;
    ASSERT_THAT(
        folder->LoadWeightsForClasses(description.classes, store, &kept),
        IsOk());
    EXPECT_THAT(kept, ElementsAre("head.weight", "head.bias"));
    EXPECT_TRUE(std::ranges::equal(before, head));
  }
}

TEST(VitFolderTest, IsARunOfImageClassification) {
  const auto folder = ReadPretrainedRun(Path("timm"), Scorers());
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT(folder->config, AllOf(HasSubstr("test_fraction: 1"),
                                    HasSubstr("vision_transformer")));
  EXPECT_EQ(folder->files.at("labels.txt"), "tabby cat\ndog\nbird\n");
  EXPECT_EQ(folder->task_file, "labels.txt");
  EXPECT_THAT(ReadPretrainedRun(Path("vit"), Scorers()), IsOk());
}

// A folder whose files a test changes.
class VitFilesTest : public ::testing::Test {
 protected:
  // Copies a folder of testdata.
  void Use(const std::string& name) {
    name_ = name;
    folder_ = JoinPath(::testing::TempDir(), name);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const auto& file : std::filesystem::directory_iterator(Path(name))) {
      Write(file.path().filename(), ReadFile(file.path()).value());
    }
  }
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_THAT(WriteFileAtomically(JoinPath(folder_, name), text), IsOk());
  }

  // Sets a field of a file to a value, or removes the field if the value is
  // null. Returns the error.
  std::string Error(const std::string& file, const std::string& field,
                    const Json& value) {
    const std::string before = ReadFile(JoinPath(folder_, file)).value();
    Json json = Json::parse(before);
    const Json::json_pointer at(field);
    if (value.is_null()) {
      json[at.parent_pointer()].erase(at.back());
    } else {
      json[at] = value;
    }
    Write(file, json.dump(1));
    std::string error(Open(folder_).status().message());
    Write(file, before);
    return error;
  }
  std::string ConfigError(const std::string& field, const Json& value) {
    return Error("config.json", field, value);
  }

  std::string name_;
  std::string folder_;
};

TEST_F(VitFilesTest, NamesWhatIsWrongWithATransformersConfig) {
  Use("vit");
  EXPECT_THAT(ConfigError("/hidden_act", "quick_gelu"),
              AllOf(HasSubstr("config.json:"), HasSubstr("hidden_act")));
  EXPECT_THAT(ConfigError("/num_attention_heads", 0),
              HasSubstr("num_attention_heads"));
  EXPECT_THAT(ConfigError("/num_attention_heads", 3),
              HasSubstr("num_attention_heads 3 must divide"));
  EXPECT_THAT(ConfigError("/hidden_size", nullptr),
              HasSubstr("hidden_size is missing"));
  EXPECT_THAT(ConfigError("/patch_size", {4, 2}), HasSubstr("4 x 2"));
  EXPECT_THAT(ConfigError("/patch_size", 3),
              HasSubstr("3 must divide the image size"));
  EXPECT_THAT(ConfigError("/num_channels", 4),
              HasSubstr("num_channels must be 1 or 3, but is 4"));
  EXPECT_THAT(ConfigError("/image_size", {8, 8, 8}), HasSubstr("image_size"));
  EXPECT_THAT(ConfigError("/image_size", 16),
              HasSubstr("height must be 16, the image_size of config.json"));
  EXPECT_THAT(ConfigError("/id2label/7", "owl"),
              HasSubstr("the id '7' must be from 0 to 3"));
  EXPECT_THAT(ConfigError("/id2label/1", "a\nb"), HasSubstr("a line break"));
  EXPECT_THAT(ConfigError("/model_type", "deit"), HasSubstr("model_type"));
  EXPECT_THAT(ConfigError("/problem_type", "multi_label_classification"),
              HasSubstr("problem_type must be one of single_label"));
  // These values contradict the tensors.
  EXPECT_THAT(ConfigError("/num_hidden_layers", 1),
              HasSubstr("'vit.encoder.layer.1.attention.attention.key.bias' "
                        "does not belong to this model"));
  EXPECT_THAT(ConfigError("/qkv_bias", false),
              HasSubstr("does not belong to this model"));
  EXPECT_THAT(ConfigError("/id2label/2", nullptr),
              HasSubstr("'classifier.bias' is F32 [3]; expected F32 [2]"));
  Json unnamed =
      Json::parse(ReadFile(JoinPath(folder_, "config.json")).value());
  unnamed.erase("id2label");
  Write("config.json", unnamed.dump());
  EXPECT_EQ(ConfigError("/num_labels", 3), "");
  EXPECT_THAT(ConfigError("/num_labels", 4),
              HasSubstr("'classifier.bias' is F32 [3]; expected F32 [4]"));
}

TEST_F(VitFilesTest, NamesWhatIsWrongWithATimmConfig) {
  Use("timm");
  for (const char* name :
       {"vit_base_patch16_clip_224", "resnet50", "vit_small_patch16_18x2_224",
        "vit_tiny_patchx_9", "vit_base_patch0_224", "vit_base_patch-16_224"}) {
    EXPECT_THAT(ConfigError("/architecture", name),
                HasSubstr("must have the form vit_SIZE_patchP_N"));
  }
  EXPECT_THAT(ConfigError("/model_args/init_values", 1e-5),
              HasSubstr("init_values is not a supported argument"));
  EXPECT_THAT(ConfigError("/model_args/global_pool", "avg"),
              HasSubstr("class_token and fc_norm must be false"));
  EXPECT_THAT(ConfigError("/model_args/global_pool", "map"),
              HasSubstr("one of token, avg"));
  EXPECT_THAT(ConfigError("/pretrained_cfg/crop_mode", "border"),
              HasSubstr("one of center, squash"));
  EXPECT_THAT(ConfigError("/pretrained_cfg/crop_mode", "squash"),
              HasSubstr("crop_pct"));
  EXPECT_THAT(ConfigError("/pretrained_cfg/interpolation", "lanczos"),
              HasSubstr("interpolation"));
  EXPECT_THAT(ConfigError("/pretrained_cfg/mean", {0.5, 0.5}),
              HasSubstr("mean must be one number for each channel"));
  // 4294967520 is 224 + 2^32. It must not be truncated to 224.
  for (const Json& size : {Json{3, 9}, Json{3, 0, 9}, Json{3, 9, 4097},
                           Json{3, 224, 4294967520}}) {
    EXPECT_THAT(ConfigError("/pretrained_cfg/input_size", size),
                AllOf(HasSubstr("config.json:"),
                      HasSubstr("three numbers from 1 to 4096")));
  }
  EXPECT_THAT(ConfigError("/pretrained_cfg", nullptr),
              HasSubstr("pretrained_cfg is missing"));
  EXPECT_THAT(ConfigError("/label_names", {"a"}), HasSubstr("num_classes"));
  EXPECT_THAT(ConfigError("/model_args/num_heads", 3),
              HasSubstr("num_heads 3 must divide"));
  EXPECT_THAT(
      ConfigError("/model_args/qkv_bias", false),
      HasSubstr("'blocks.0.attn.qkv.bias' does not belong to this model"));
}

TEST_F(VitFilesTest, WritesWhatItReads) {
  for (const char* name : {"vit", "vit_grey", "timm"}) {
    const absl::StatusOr<VitFolder> folder = Open(Path(name));
    ImageClassifier model = ClassifierOf(folder->description);
    ASSERT_THAT(folder->LoadWeights(model.parameters()), IsOk());
    const std::string copy =
        JoinPath(::testing::TempDir(), absl::StrCat("copy_of_", name));
    ASSERT_THAT(WriteVitFolder(model, copy, SystemFiles()), IsOk());
    const auto again = OpenVitFolder(copy, VitNames::kTransformers, Scorers());
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->description.classes, folder->description.classes);
    EXPECT_EQ(again->description.format.SerializeAsString(),
              folder->description.format.SerializeAsString());
    ImageClassifier other = ClassifierOf(again->description);
    ASSERT_THAT(again->LoadWeights(other.parameters()), IsOk());
    EXPECT_TRUE(std::ranges::equal(model.parameters().values(),
                                   other.parameters().values()));
  }
}

TEST_F(VitFilesTest, NamesWhatCannotBeWritten) {
  const auto error = [&](const std::function<void(VitDescription&)>& change) {
    VitDescription description = Open(Path("vit"))->description;
    change(description);
    ImageClassifier model = ClassifierOf(description);
    return std::string(WriteVitFolder(model,
                                      JoinPath(::testing::TempDir(), "none"),
                                      SystemFiles())
                           .message());
  };
  EXPECT_EQ(error([](VitDescription& vit) {
              vit.config.mutable_transformer()->set_drop_path(0.1);
            }),
            "");
  EXPECT_THAT(error([](VitDescription& vit) {
                vit.config.set_pooling(VisionTransformerConfig::MEAN);
              }),
              HasSubstr("class token"));
  EXPECT_THAT(
      error([](VitDescription& vit) {
        vit.config.mutable_transformer()->mutable_attention()->set_key_heads(1);
      }),
      HasSubstr("key_heads"));
  EXPECT_THAT(error([](VitDescription& vit) {
                vit.config.mutable_transformer()
                    ->mutable_position_embedding()
                    ->set_kind(PositionEmbeddingConfig::SINUSOIDAL);
              }),
              HasSubstr("position_embedding"));
  EXPECT_THAT(error([](VitDescription& vit) {
                vit.format.set_crop(true);
                vit.format.set_width(4);
              }),
              HasSubstr("must set shorter_side"));
}

}  // namespace
}  // namespace regard
