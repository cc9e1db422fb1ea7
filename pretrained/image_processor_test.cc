#include "pretrained/image_processor.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "files/file.h"
#include "files/json_file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

ImageFormat FormatOf(const ImageShape& images) {
  ImageFormat format;
  format.set_height(static_cast<int>(images.height));
  format.set_width(static_cast<int>(images.width));
  format.set_grey(images.channels == 1);
  format.set_filter(ImageFormat::BILINEAR);
  return format;
}

class ImageProcessorTest : public ::testing::Test {
 protected:
  ImageProcessorTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  // The format as text, or the error.
  std::string Read(const std::string& text,
                   const std::string& file = "preprocessor_config.json",
                   const ImageShape& images = {3, 8, 8}) const {
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder_, file), text).ok());
    const auto format = ReadImageProcessor(folder_, FormatOf(images));
    if (!format.ok()) return std::string(format.status().message());
    std::string read;
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    printer.PrintToString(*format, &read);
    return read;
  }

  const std::string folder_ = JoinPath(::testing::TempDir(), "image_processor");
};

TEST_F(ImageProcessorTest, SaysHowImagesBecomeInputs) {
  EXPECT_THAT(Read(R"({"size": 8, "resample": 3, "image_mean": [0.25],
                       "image_std": [0.5, 0.25, 1]})"),
              HasSubstr("height: 8 width: 8 grey: false filter: BICUBIC mean { "
                        "red: 0.25 green: 0.25 blue: 0.25 } deviation { red: "
                        "0.5 green: 0.25 blue: 1 }"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 9}, "do_center_crop": true,
                       "crop_size": {"height": 8, "width": 8}})"),
              HasSubstr("filter: BILINEAR crop: true shorter_side: 9"));
  // An image just covers a square.
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8}, "do_center_crop": true,
                       "crop_size": 8})"),
              HasSubstr("filter: BILINEAR crop: true"));
  EXPECT_THAT(Read(R"({"size": {"height": 8, "width": 8},
                       "do_normalize": false, "image_mean": [0.5]})"),
              HasSubstr("mean { red: 0 green: 0 blue: 0 } deviation { red: 1 "
                        "green: 1 blue: 1 }"));
}

TEST_F(ImageProcessorTest, HasTwoNamesAndMayBeMissing) {
  EXPECT_EQ(Read("{}", "other.json", {1, 4, 6}),
            "height: 4 width: 6 grey: true filter: BILINEAR ");
  EXPECT_THAT(Read(R"({"image_processor": {"size": 8, "resample": 3}})",
                   "processor_config.json"),
              HasSubstr("BICUBIC"));
  EXPECT_THAT(Read("{}", "processor_config.json"),
              HasSubstr("image_processor is missing"));
  EXPECT_THAT(Read(R"({"size": 8, "resample": 2})"), HasSubstr("BILINEAR"));
}

TEST_F(ImageProcessorTest, NamesWhatIsNotComputed) {
  const auto error = [&](const std::string& field) {
    return Read(absl::StrCat(R"({"size": 8, )", field, "}"));
  };
  EXPECT_THAT(Read("{}"), HasSubstr("size is missing"));
  EXPECT_THAT(Read(R"({"size": 9})"),
              HasSubstr("preprocessor_config.json:1:10: error: images become 9 "
                        "x 9, but the model reads 8 x 8"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8}})"),
              HasSubstr("without do_center_crop"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 7}, "do_center_crop": true,
                       "crop_size": 8})"),
              HasSubstr("less than what is cut out"));
  EXPECT_THAT(Read(R"({"size": {"shortest_edge": 8, "longest_edge": 9}})"),
              HasSubstr("longest_edge"));
  EXPECT_THAT(Read(R"({"size": 9, "do_center_crop": true, "crop_size": 8})"),
              HasSubstr("cuts a stretched image"));
  EXPECT_THAT(error(R"("resample": 1)"), HasSubstr("resample is 1"));
  EXPECT_THAT(error(R"("do_resize": false)"), HasSubstr("always resized"));
  EXPECT_THAT(error(R"("do_rescale": false)"), HasSubstr("1/255"));
  EXPECT_THAT(error(R"("rescale_factor": 0.0078)"), HasSubstr("1/255"));
  EXPECT_THAT(error(R"("do_pad": true)"), HasSubstr("not padded"));
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
    const ImageFormat format =
        *ReadImageProcessor(folder_, FormatOf({3, 8, 8}));
    EXPECT_EQ(Read(ImageProcessorText(format, "ViTImageProcessor")), read);
  }
}

}  // namespace
}  // namespace regard
