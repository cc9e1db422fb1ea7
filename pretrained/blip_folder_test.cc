#include "pretrained/blip_folder.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "data/images/caption_set.h"
#include "data/images/image_format.h"
#include "data/images/image_format.pb.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "seq2seq/decoding/search.pb.h"
#include "third_party/abseil_backport/status_matchers.h"
#include "vision/caption_model.h"
#include "vision/captioner.pb.h"
#include "vision/vision_transformer.pb.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// tools/parity/write_blip_fixtures.py wrote the folder with transformers.
constexpr char kFolder[] = "pretrained/testdata/blip";

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

std::string TextOf(const std::string& path) {
  return ReadFile(path, 1 << 20).value();
}

// Returns the model that a run creates from the folder.
std::unique_ptr<CaptionModel> ModelOf(const BlipFolder& folder) {
  CaptionSplits data;
  data.vocabulary = folder.tokenizer.pieces->ToText();
  data.train.images.format = folder.description.images;
  data.train.images.shape = ShapeOf(folder.description.images);
  return std::make_unique<CaptionModel>(folder.description.config, Scorers(),
                                        std::move(data), ModelOptions());
}

// Copies the folder. Tests may change the files of the copy.
class BlipFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
      std::filesystem::copy_file(
          entry.path(), JoinPath(folder_, entry.path().filename().string()));
    }
  }

  void Replace(const std::string& name, const std::string& from,
               const std::string& to) {
    const std::string path = JoinPath(folder_, name);
    const std::string text = TextOf(JoinPath(kFolder, name));
    ASSERT_THAT(text, HasSubstr(from));
    std::ofstream(path, std::ios::binary)
        << absl::StrReplaceAll(text, {{from, to}});
  }

  // Returns the error after replacing `from` by `to` in the file.
  std::string ErrorOf(const std::string& name, const std::string& from,
                      const std::string& to) {
    Replace(name, from, to);
    const absl::Status status = OpenBlipFolder(folder_, Scorers()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
    Replace(name, from, from);
    return absl::StrReplaceAll(status.message(), {{folder_, "F"}});
  }

  std::string folder_;
};

TEST_F(BlipFolderTest, WritesWhatTransformersWrites) {
  const BlipFolder folder = OpenBlipFolder(folder_, Scorers()).value();
  const std::unique_ptr<CaptionModel> model = ModelOf(folder);
  ASSERT_THAT(folder.LoadWeights(model->parameters(), nullptr), IsOk());
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  int count = 0;
  for (const absl::string_view line :
       absl::StrSplit(TextOf(JoinPath(kFolder, "captions.txt")), '\n',
                      absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    ASSERT_EQ(parts.size(), 4u) << line;
    SearchConfig search;
    search.set_beam(std::stoi(parts[1]));
    search.set_length_penalty(0);
    search.set_max_length_ratio(0);
    search.set_max_length(15);
    const auto described = model->Describe(
        forward, {.text = JoinPath(folder_, parts[2]), .prompt = parts[0]},
        search);
    ASSERT_THAT(described, IsOk());
    EXPECT_EQ(described->front().text, parts[3]) << line;
    ++count;
  }
  EXPECT_GE(count, 12);
}

TEST_F(BlipFolderTest, ProblemsNameTheirKey) {
  const auto config = [&](const std::string& from, const std::string& to) {
    return ErrorOf("config.json", from, to);
  };
  EXPECT_THAT(config("\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\""),
              AllOf(HasSubstr("F/config.json:"), HasSubstr("hidden_act")));
  EXPECT_THAT(
      config("\"num_attention_heads\": 4", "\"num_attention_heads\": 3"),
      HasSubstr("num_attention_heads 3 must divide hidden_size 8"));
  EXPECT_THAT(config("\"patch_size\": 4", "\"patch_size\": 5"),
              HasSubstr("patch_size 5 must divide image_size 12"));
  EXPECT_THAT(
      config("\"sep_token_id\": 3", "\"sep_token_id\": 4"),
      HasSubstr("sep_token_id must be 3, the id of the tokenizer's [SEP]"));
  EXPECT_THAT(
      config("\"bos_token_id\": 20", "\"bos_token_id\": 21"),
      HasSubstr("bos_token_id must be at most 20, the number of tokens"));
  EXPECT_THAT(config("\"vocab_size\": 22", "\"vocab_size\": 20"),
              HasSubstr("vocab_size must be at least 21"));
  EXPECT_THAT(config("\"is_decoder\": true", "\"is_decoder\": false"),
              HasSubstr("is_decoder must be true"));
  EXPECT_THAT(config("\"BlipForConditionalGeneration\"",
                     "\"BlipForQuestionAnswering\""),
              HasSubstr("'BlipForQuestionAnswering' is not supported"));
  EXPECT_THAT(config("\"text_config\"", "\"text\""), HasSubstr("text_config"));
  // The feed-forward networks in the file have 7 hidden units.
  EXPECT_THAT(config("\"intermediate_size\": 7", "\"intermediate_size\": 9"),
              HasSubstr("intermediate.dense.weight"));
  const auto images = [&](const std::string& from, const std::string& to) {
    return ErrorOf("preprocessor_config.json", from, to);
  };
  EXPECT_THAT(images("\"height\": 12", "\"height\": 16"),
              AllOf(HasSubstr("F/preprocessor_config.json:"),
                    HasSubstr("height must be 12, the image_size")));
  EXPECT_THAT(images("\"resample\": 3", "\"resample\": 1"),
              HasSubstr("resample must be 2 (bilinear) or 3 (bicubic)"));
  EXPECT_THAT(images("0.4578275,", "4.5,"), HasSubstr("image_mean must be"));
  EXPECT_THAT(images("\"do_rescale\": true", "\"do_rescale\": false"),
              HasSubstr("do_rescale must be true"));
  std::filesystem::remove(JoinPath(folder_, "preprocessor_config.json"));
  EXPECT_THAT(OpenBlipFolder(folder_, Scorers()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must contain preprocessor_config.json or")));
}

// transformers 5 stores the image processor in processor_config.json, which
// must be read if preprocessor_config.json is missing.
TEST_F(BlipFolderTest, ImagesMayBeAsAProcessorSays) {
  const std::string path = JoinPath(folder_, "preprocessor_config.json");
  const std::string text = absl::StrReplaceAll(
      TextOf(path), {{"\"resample\": 3", "\"resample\": 2"}});
  std::filesystem::remove(path);
  std::ofstream(JoinPath(folder_, "processor_config.json"))
      << "{\"image_processor\": " << text << "}";
  const BlipFolder folder = OpenBlipFolder(folder_, Scorers()).value();
  EXPECT_EQ(folder.description.images.filter(), ImageFormat::BILINEAR);
}

TEST_F(BlipFolderTest, RejectsModelsThatTransformersLacks) {
  const BlipFolder folder = OpenBlipFolder(folder_, Scorers()).value();
  const auto error_of =
      [&](const std::function<void(CaptionerConfig&, ImageFormat&)>& change) {
        CaptionerConfig config = folder.description.config;
        CaptionSplits data;
        data.vocabulary = folder.tokenizer.pieces->ToText();
        data.train.images.format = folder.description.images;
        change(config, *data.train.images.format);
        data.train.images.shape = ShapeOf(*data.train.images.format);
        const CaptionModel model(config, Scorers(), std::move(data),
                                 ModelOptions());
        FileOperations files;
        const std::string path = JoinPath(folder_, "written");
        const absl::Status status = WriteBlipFolder(model, path, files);
        EXPECT_EQ(PathExists(path), status.ok());
        EXPECT_THAT(RemoveTree(path, files), IsOk());
        return std::string(status.message());
      };
  using Config = CaptionerConfig;
  using Format = ImageFormat;
  // Dropout rates matter only in training, so they must not be errors.
  EXPECT_EQ(error_of([](Config& config, Format&) {
              TransformerConfig& vision =
                  *config.mutable_vision_transformer()->mutable_transformer();
              vision.set_dropout(0.3);
              vision.set_drop_path(0.3);
              config.mutable_decoder()->set_embedding_dropout(0.3);
            }),
            "");
  // By default, a feed-forward network is four times as wide as the model, so
  // the missing field must not be an error.
  EXPECT_EQ(error_of([](Config& config, Format&) {
              config.mutable_vision_transformer()
                  ->mutable_transformer()
                  ->mutable_feed_forward()
                  ->clear_hidden();
              config.mutable_decoder()->mutable_feed_forward()->clear_hidden();
            }),
            "");
  const struct {
    std::function<void(Config&, Format&)> change;
    const char* message;
  } kCases[] = {
      {[](Config& config, Format&) { config.set_cross_attention(false); },
       "BLIP requires cross_attention: true, and pooling"},
      {[](Config& config, Format&) {
         config.mutable_vision_transformer()->set_pooling(
             VisionTransformerConfig::MEAN);
       },
       "BLIP requires cross_attention: true, and pooling"},
      {[](Config&, Format& format) { format.set_crop(true); },
       "data.captions.format"},
      {[](Config&, Format& format) { format.set_grey(true); },
       "data.captions.format"},
      {[](Config&, Format& format) { format.set_height(16); },
       "data.captions.format"},
      {[](Config& config, Format&) {
         config.mutable_vision_transformer()
             ->mutable_transformer()
             ->set_norm_order(TransformerConfig::POST);
       },
       "does not fit BLIP (vision_transformer)"},
      {[](Config& config, Format&) {
         config.mutable_decoder()->set_scale_embedding(true);
       },
       "does not fit BLIP (decoder)"},
      {[](Config& config, Format&) {
         config.mutable_decoder()->set_output_bias(false);
       },
       "does not fit BLIP (decoder)"},
      {[](Config& config, Format&) {
         config.mutable_decoder()
             ->mutable_cross_attention()
             ->mutable_attention()
             ->mutable_average();
       },
       "does not fit BLIP (cross_attention of decoder)"},
      {[](Config& config, Format&) {
         config.mutable_decoder()->mutable_cross_attention()->set_heads(1);
       },
       "does not fit BLIP (cross_attention of decoder)"},
  };
  for (const auto& [change, message] : kCases) {
    EXPECT_THAT(error_of(change), HasSubstr(message));
  }
}

TEST_F(BlipFolderTest, ReadsTheFolderThatItWrites) {
  const BlipFolder folder = OpenBlipFolder(folder_, Scorers()).value();
  const std::unique_ptr<CaptionModel> model = ModelOf(folder);
  ASSERT_THAT(folder.LoadWeights(model->parameters(), nullptr), IsOk());
  const std::string copy = JoinPath(folder_, "copy");
  FileOperations files;
  ASSERT_THAT(WriteBlipFolder(*model, copy, files), IsOk());
  const BlipFolder again = OpenBlipFolder(copy, Scorers()).value();
  EXPECT_EQ(again.description.config.SerializeAsString(),
            folder.description.config.SerializeAsString());
  EXPECT_EQ(again.description.images.SerializeAsString(),
            folder.description.images.SerializeAsString());
  EXPECT_EQ(*again.tokenizer.pieces, *folder.tokenizer.pieces);
  const std::unique_ptr<CaptionModel> other = ModelOf(again);
  ASSERT_THAT(again.LoadWeights(other->parameters(), nullptr), IsOk());
  EXPECT_TRUE(model->parameters().values() == other->parameters().values());
}

}  // namespace
}  // namespace regard
