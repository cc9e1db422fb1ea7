#include "files/tensorboard/summary.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "files/tensorboard/event.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard::tensorboard {
namespace {

using ::testing::ElementsAre;

// Returns the left edge, right edge and count of each bucket.
std::vector<std::array<double, 3>> Buckets(const std::vector<float>& values) {
  const Summary::Value value = HistogramValue("h", values);
  const std::string& content = value.tensor().tensor_content();
  EXPECT_EQ(content.size(), 30u * 3 * 8);
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 30);
  EXPECT_EQ(value.tensor().tensor_shape().dim(1).size(), 3);
  std::vector<std::array<double, 3>> buckets(30);
  std::memcpy(buckets.data(), content.data(), content.size());
  return buckets;
}

// The bytes must be equal to the bytes that TensorFlow writes for this event.
TEST(SummaryTest, AScalarHasTheBytesOfTheReference) {
  Event event;
  event.set_wall_time(1600545684.0899);
  event.set_step(77);
  *event.mutable_summary()->add_value() = ScalarValue("accuracy", 0.99f);
  const std::string bytes = event.SerializeAsString();
  EXPECT_EQ(bytes.size(), 50u);
  EXPECT_EQ(bytes.substr(9),
            std::string("\x10\x4d\x2a\x25\x0a\x23\x0a\x08"
                        "accuracy"
                        "\x42\x0a\x08\x01\x12\x00\x22\x04\xa4\x70\x7d\x3f"
                        "\x4a\x0b\x0a\x09\x0a\x07scalars",
                        41));
}

TEST(SummaryTest, AHistogramCountsItsValuesBetweenTheirExtremes) {
  const auto buckets = Buckets({0.0f, 0.5f, 30.0f, 29.5f, 1.0f});
  EXPECT_THAT(buckets.front(), ElementsAre(0, 1, 2));
  EXPECT_THAT(buckets[1], ElementsAre(1, 2, 1));
  EXPECT_THAT(buckets.back(), ElementsAre(29, 30, 2));
}

TEST(SummaryTest, EqualValuesAreInTheLastBucket) {
  const auto buckets = Buckets({-2.0f, -2.0f});
  EXPECT_THAT(buckets.front(), ElementsAre(-2, -2, 0));
  EXPECT_THAT(buckets.back(), ElementsAre(-2, -2, 2));
}

TEST(SummaryTest, OmitsNonFiniteValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto buckets = Buckets({infinity, 0.0f, 30.0f, -infinity,
                                std::numeric_limits<float>::quiet_NaN()});
  EXPECT_THAT(buckets.front(), ElementsAre(0, 1, 1));
  EXPECT_THAT(buckets.back(), ElementsAre(29, 30, 1));
  EXPECT_THAT(Buckets({infinity}).back(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Buckets({}).back(), ElementsAre(0, 0, 0));
}

TEST(SummaryTest, TheWidestRangeOfFloatsHasFiniteEdges) {
  const float most = std::numeric_limits<float>::max();
  const auto buckets = Buckets({-most, most});
  EXPECT_EQ(buckets.front()[2], 1);
  EXPECT_EQ(buckets.back()[1], most);
  EXPECT_EQ(buckets.back()[2], 1);
}

TEST(SummaryTest, AnImageSaysItsWidthFirst) {
  const std::vector<uint8_t> rgb(2 * 3 * 3, 0);
  const Summary::Value value = ImageValue("i", "d", 2, 3, rgb);
  EXPECT_EQ(value.metadata().summary_description(), "d");
  ASSERT_EQ(value.tensor().string_val_size(), 3);
  EXPECT_EQ(value.tensor().string_val(0), "3");
  EXPECT_EQ(value.tensor().string_val(1), "2");
  EXPECT_EQ(value.tensor().string_val(2).substr(1, 3), "PNG");
}

TEST(SummaryTest, EscapedTextIsNotMarkup) {
  EXPECT_EQ(EscapeMarkdown("le chat"), "le chat");
  EXPECT_EQ(EscapeMarkdown("*a*|<b>\n&"), "&#42;a&#42;&#124;&#60;b&#62; &#38;");
  EXPECT_EQ(EscapeMarkdown("été"), "été");
}

TEST(SummaryTest, SettingsKeepTheirTypes) {
  const Summary::Value value = SessionStartValue(
      {{"bool", true}, {"number", 0.5}, {"text", std::string("gru")}}, "g", 7);
  HParamsPluginData data;
  ASSERT_TRUE(data.ParseFromString(value.metadata().plugin_data().content()));
  ASSERT_EQ(data.session_start_info().hparams_size(), 3);
  EXPECT_TRUE(data.session_start_info().hparams(0).value().bool_value());
  EXPECT_EQ(data.session_start_info().hparams(1).value().number_value(), 0.5);
  EXPECT_EQ(data.session_start_info().hparams(2).value().string_value(), "gru");
  EXPECT_TRUE(data.has_version());
}

}  // namespace
}  // namespace regard::tensorboard
