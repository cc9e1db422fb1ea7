#include "experiments/report/picture.h"

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/html_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Picture Small() {
  return {.title = "a <coat>",
          .height = 2,
          .width = 4,
          .rgb = std::vector<uint8_t>(24, 128)};
}

TEST(PictureTest, TheImageIsInThePage) {
  const std::string html = PictureFigure(Small());
  EXPECT_THAT(html, StartsWith("<figure class=\"picture\"><figcaption>a "
                               "&lt;coat&gt;</figcaption>"));
  EXPECT_THAT(html, HasSubstr("viewBox=\"0 0 4 2\""));
  // The first bytes of a PNG.
  EXPECT_THAT(html, HasSubstr("href=\"data:image/png;base64,iVBORw0KGgo"));
  EXPECT_THAT(html, Not(HasSubstr("<rect")));
}

TEST(PictureTest, WeightsAreSharesOfTheLargest) {
  Picture picture = Small();
  picture.rows = 1;
  picture.columns = 2;
  picture.weights = {0.1, 0.4};
  picture.gold = {{0, 1}};
  const std::string html = PictureFigure(picture);
  EXPECT_THAT(html,
              HasSubstr("<rect x=\"0\" y=\"0\" width=\"2\" height=\"2\" "
                        "fill-opacity=\"0.20\"><title>0.100</title></rect>"));
  EXPECT_THAT(html,
              HasSubstr("<rect x=\"2\" y=\"0\" width=\"2\" height=\"2\" "
                        "fill-opacity=\"0.80\"><title>0.400</title></rect>"));
  EXPECT_THAT(html, HasSubstr("width=\"2\" height=\"2\" class=\"gold\"/>"));
}

TEST(PictureTest, AGalleryWarnsWhereThereAreWeights) {
  Gallery gallery = {.title = "Misses", .note = "", .pictures = {Small()}};
  HtmlReport plain("run", "");
  plain.AddGallery(gallery);
  EXPECT_THAT(plain.Build(), HasSubstr("<h2>Misses</h2>"));
  EXPECT_THAT(plain.Build(), Not(HasSubstr("class=\"caution\"")));
  gallery.pictures[0].rows = gallery.pictures[0].columns = 1;
  gallery.pictures[0].weights = {1};
  HtmlReport weighted("run", "");
  weighted.AddGallery(gallery);
  EXPECT_THAT(weighted.Build(), HasSubstr("class=\"caution\""));
}

TEST(PictureDeathTest, SizesMustFit) {
  Picture picture = Small();
  picture.weights = {1};
  EXPECT_DEATH(PictureFigure(picture), "picture a <coat>");
  picture.weights.clear();
  picture.rgb.pop_back();
  EXPECT_DEATH(PictureFigure(picture), "23");
}

}  // namespace
}  // namespace regard
