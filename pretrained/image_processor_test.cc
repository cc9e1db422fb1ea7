#include "pretrained/image_processor.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "data/images/image_format.pb.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ImageProcessorTest : public ::testing::Test {
 protected:
  ImageProcessorTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  // Returns the format of a model that reads images of 8 x 8 pixels.
  static ImageFormat Square() {
    ImageFormat format;
    format.set_height(8);
    format.set_width(8);
    format.set_grey(false);
    format.set_filter(ImageFormat::BILINEAR);
    return format;
  }

  // Returns the format as text, or the error.
  std::string Read(const std::string& text,
                   const std::string& file = "preprocessor_config.json") const {
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder_, file), text).ok());
    return Read();
  }
  std::string Read() const {
    const auto format = ReadImageProcessor(folder_, Square());
    if (!format.ok()) return std::string(format.status().message());
    std::string read;
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintToString(*format, &read);
    return read;
  }

  const std::string folder_ = JoinPath(::testing::TempDir(), "image_processor");
};

TEST_F(ImageProcessorTest, ReadsTheImageFormat) {
  EXPECT_THAT(Read(R"({"size": 8, "resample": 3, "image_mean": [0.25],
                       "image_std": [0.5, 0.25, 1]})"),
              HasSubstr("height: 8 width: 8 grey: false filter: BICUBIC mean { "
                        "red: 0.25 green: 0.25 blue: 0.25 } deviation { red: "
                        "0.5 green: 0.25 blue: 1 }"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 9}, "do_center_crop": true,
                       "crop_size": {"height": 8, "width": 8}})"),
              HasSubstr("filter: BILINEAR crop: true shorter_side: 9"));
  // After resizing, the shorter side of the image equals the side of the square
  // that is cropped.
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8}, "do_center_crop": true,
                       "crop_size": 8})"),
              HasSubstr("filter: BILINEAR crop: true"));
  EXPECT_THAT(Read(R"({"size": {"height": 8, "width": 8},
                       "do_normalize": false, "image_mean": [0.5]})"),
              HasSubstr("mean { red: 0 green: 0 blue: 0 } deviation { red: 1 "
                        "green: 1 blue: 1 }"));
}

// If "size" is a single number, CLIPImageProcessor resizes the shorter side to
// it, and ViTImageProcessor resizes both sides. Other processors must be an
// error.
TEST_F(ImageProcessorTest, TheTypeDeterminesTheMeaningOfASize) {
  const auto read = [&](const std::string& type, int size) {
    return Read(absl::StrCat(R"({"size": )", size, ", ", type,
                             R"(, "do_center_crop": true, "crop_size": 8})"));
  };
  for (const char* type :
       {R"("image_processor_type": "CLIPImageProcessor")",
        R"("feature_extractor_type": "CLIPFeatureExtractor")"}) {
    EXPECT_THAT(read(type, 9), HasSubstr("crop: true shorter_side: 9"));
    EXPECT_THAT(read(type, 8), HasSubstr("crop: true"));
  }
  EXPECT_THAT(read(R"("image_processor_type": "ViTImageProcessor")", 8),
              AllOf(HasSubstr("height: 8"), Not(HasSubstr("crop"))));
  EXPECT_THAT(read(R"("image_processor_type": "BitImageProcessor")", 8),
              HasSubstr("json:1:10: error: size must have height and width"));
}

TEST_F(ImageProcessorTest, AcceptsTwoFileNames) {
  EXPECT_FALSE(HasImageProcessor(folder_));
  EXPECT_THAT(Read(), HasSubstr("must contain preprocessor_config.json or"));
  EXPECT_THAT(Read(R"({"image_processor": {"size": 8, "resample": 3}})",
                   "processor_config.json"),
              HasSubstr("BICUBIC"));
  EXPECT_THAT(Read("{}", "processor_config.json"),
              HasSubstr("image_processor is missing"));
  EXPECT_TRUE(HasImageProcessor(folder_));
  EXPECT_THAT(Read(R"({"size": 8, "resample": 2})"), HasSubstr("BILINEAR"));
  // Absent fields must have the values of Square().
  EXPECT_EQ(Read("{}"), "height: 8 width: 8 grey: false filter: BILINEAR ");
}

TEST_F(ImageProcessorTest, NamesUnsupportedOptions) {
  const auto error = [&](const std::string& field) {
    return Read(absl::StrCat(R"({"size": 8, )", field, "}"));
  };
  EXPECT_THAT(Read(R"({"size": 9})"),
              HasSubstr("preprocessor_config.json:1:10: error: size must be 8, "
                        "the image_size of config.json"));
  EXPECT_THAT(Read(R"({"size": {"height": 8, "width": 6}})"),
              HasSubstr("width must be 8"));
  EXPECT_THAT(Read(R"({"do_center_crop": true})"),
              HasSubstr("crop_size is missing"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8}})"),
              HasSubstr("requires do_center_crop"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 7}, "do_center_crop": true,
                       "crop_size": 8})"),
              HasSubstr("at least 8, the larger side of crop_size"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8, "longest_edge": 9}})"),
              HasSubstr("longest_edge"));
  EXPECT_THAT(Read(R"({"size": 9, "do_center_crop": true, "crop_size": 8})"),
              HasSubstr("size must be 8"));
  EXPECT_THAT(error(R"("resample": 1)"), HasSubstr("resample must be 2"));
  EXPECT_THAT(error(R"("do_resize": false)"),
              HasSubstr("do_resize must be true"));
  EXPECT_THAT(error(R"("do_rescale": false)"),
              HasSubstr("do_rescale must be true"));
  EXPECT_THAT(error(R"("rescale_factor": 0.0078)"), HasSubstr("1/255"));
  EXPECT_THAT(error(R"("do_pad": true)"), HasSubstr("do_pad must be false"));
  EXPECT_THAT(error(R"("image_mean": [0.5, 0.5])"), HasSubstr("image_mean"));
  EXPECT_THAT(error(R"("image_mean": [0.5, 0.5, "x"])"),
              HasSubstr("image_mean"));
  EXPECT_THAT(error(R"("image_mean": 0.5)"), HasSubstr("image_mean"));
  EXPECT_THAT(error(R"("image_std": [0, 0, 0])"), HasSubstr("image_std"));
}

TEST_F(ImageProcessorTest, WritesWhatItReads) {
  for (const char* text :
       {R"({"size": 8, "resample": 3, "image_mean": [0.485, 0.456, 0.406],
            "image_std": [0.229, 0.224, 0.225]})",
        R"({"size": {"shortest_edge": 11}, "do_center_crop": true,
            "crop_size": 8, "do_normalize": false})"}) {
    const std::string read = Read(text);
    const ImageFormat format = *ReadImageProcessor(folder_, Square());
    EXPECT_TRUE(
        WriteImageProcessor(format, "ViTImageProcessor", folder_, SystemFiles())
            .ok());
    EXPECT_EQ(Read(), read);
  }
}

}  // namespace
}  // namespace regard
