#include "experiments/report/svg.h"

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

size_t Count(absl::string_view text, absl::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

MapGrid GridOf(const LabelledMatrix& map) {
  return {.title = map.title, .maps = {map}, .unit = "weight"};
}

// Compares every element of an image with a file. The image has two rows of
// pictures, and maps with two heads, with and without negative weights.
TEST(FiguresSvgTest, IsAsInTheFile) {
  WeightedImage picture = {.title = "p",
                           .height = 1,
                           .width = 2,
                           .rgb = {255, 0, 0, 0, 0, 255},
                           .rows = 1,
                           .columns = 2,
                           .weights = {1, 0},
                           .gold = {{0, 1}}};
  std::vector<WeightedImage> pictures(5, picture);
  pictures[1].title = "a title that is wider than the picture";
  picture.height = 2;
  picture.width = 1;
  picture.rows = 2;
  picture.columns = 1;
  pictures[3] = picture;
  const std::string svg = FiguresSvg(
      {GridOf({.title = "a < b",
               .rows = {"ich", "bin"},
               .columns = {"i", "am", "not"},
               .heads = {{0, 1, 0.25, 0.75, 0.5, 0}, {1, 0, 0, 0, 0, 1}},
               .gold = {{1, 0, 1, 2}}}),
       GridOf({.title = "signed",
               .rows = {"r"},
               .columns = {"c"},
               .heads = {{-0.25}}})},
      {{"pictures", pictures}});
  // Removes the compressed pixels.
  EXPECT_EQ(std::regex_replace(svg, std::regex("base64,[^\"]*"), "base64,"),
            ReadFile("experiments/report/testdata/figures.svg").value());
}

TEST(FiguresSvgTest, HeadsAreSideBySideUntilARowIsFull) {
  LabelledMatrix map = {.title = "four", .rows = {"r"}};
  map.columns.assign(10, "c");
  map.heads.assign(4, std::vector<double>(10, 0.1));
  const std::string svg = FiguresSvg({GridOf(map)});
  // A head and its gap take 260 of the 960 - 31 pixels, so a row has three
  // heads.
  EXPECT_THAT(svg, HasSubstr("<text x=\"31\" y=\"50\" class=\"note\">head 0<"));
  EXPECT_THAT(svg,
              HasSubstr("<text x=\"291\" y=\"50\" class=\"note\">head 1<"));
  EXPECT_THAT(svg,
              HasSubstr("<text x=\"551\" y=\"50\" class=\"note\">head 2<"));
  EXPECT_THAT(svg,
              HasSubstr("<text x=\"31\" y=\"131\" class=\"note\">head 3<"));
  // The third head ends at 551 + 240 = 791, and the margin is 16.
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                              "width=\"807\" "));
  // There must be names of rows to the left of the first head of each row.
  EXPECT_EQ(Count(svg, ">r</text>"), 2);
  EXPECT_EQ(Count(svg, ">c</text>"), 40);
}

// Returns the height of the image, which its first line states.
int HeightOf(const std::string& svg) {
  std::smatch found;
  std::regex_search(svg, found, std::regex("height=\"(\\d+)\""));
  return std::stoi(found[1]);
}

TEST(FiguresSvgTest, LayersAndHeadsFormAGrid) {
  LabelledMatrix map = {.title = "map"};
  map.rows.assign(12, "r");
  map.columns.assign(12, "c");
  map.heads.assign(8, std::vector<double>(144, 0.1));
  MapGrid grid = {.title = "layers[*]", .unit = "attention weight"};
  std::vector<MapGrid> column;
  for (int layer = 0; layer < 6; ++layer) {
    grid.maps.push_back(map);
    grid.map_names.push_back("layer " + std::to_string(layer));
    column.push_back(GridOf(map));
  }
  // The largest weight of all layers must determine the scale.
  grid.maps[5].heads[0][0] = 0.4;
  const std::string svg = FiguresSvg({grid});
  EXPECT_LT(HeightOf(svg), 960);
  EXPECT_GT(HeightOf(FiguresSvg(column)), 4000);
  EXPECT_EQ(Count(svg, ">layer 5</text>"), 1);
  EXPECT_EQ(Count(svg, ">head 7</text>"), 1);
  EXPECT_EQ(Count(svg, ">0.4</text>"), 1);
  EXPECT_EQ(Count(svg, ">0.2</text>"), 1);  // half of the largest weight
  EXPECT_EQ(Count(svg, ">attention weight</text>"), 1);
  // Each of the 6 layers has 12 names of rows. Only the first layer has names
  // of columns, 12 for each of the 8 heads.
  EXPECT_EQ(Count(svg, ">r</text>"), 6 * 12);
  EXPECT_EQ(Count(svg, ">c</text>"), 8 * 12);
}

TEST(FiguresSvgTest, IsAsWideAsItsTitle) {
  // The width must be 251 pixels for 34 characters, and two margins.
  EXPECT_THAT(FiguresSvg({GridOf({.title = "abcdefghijklmnopqrstuvwxyz12345678",
                                  .rows = {"r"},
                                  .columns = {"c"},
                                  .heads = {{1}}})}),
              HasSubstr("width=\"283\" "));
}

TEST(FiguresSvgTest, CellsFillTheRestOf480Pixels) {
  LabelledMatrix map = {.title = "m", .rows = {"r"}};
  map.columns.assign(37, "c");
  map.heads.assign(1, std::vector<double>(37, 0.5));
  EXPECT_THAT(FiguresSvg({GridOf(map)}),
              HasSubstr("width=\"12\" height=\"12\" fill="));
}

TEST(FiguresSvgTest, SmallCellsHaveNoNames) {
  LabelledMatrix map = {.title = "large"};
  map.rows.assign(60, "r");
  map.columns.assign(61, "c");
  map.heads.assign(1, std::vector<double>(60 * 61, 0.5));
  EXPECT_THAT(FiguresSvg({GridOf(map)}), Not(HasSubstr(">r</text>")));
  map.columns.pop_back();
  map.heads[0].resize(60 * 60);
  EXPECT_THAT(FiguresSvg({GridOf(map)}), HasSubstr(">r</text>"));
}

TEST(FiguresSvgTest, PicturesBringTheirPixels) {
  const WeightedImage picture = {.title = "p",
                                 .height = 1,
                                 .width = 2,
                                 .rgb = {255, 0, 0, 0, 0, 255},
                                 .rows = 1,
                                 .columns = 2,
                                 .weights = {1, 0}};
  const std::string svg = FiguresSvg(
      {},
      {{"", {picture, picture, picture, picture}}, {"", {picture, picture}}});
  EXPECT_EQ(Count(svg, "data:image/png;base64,"), 6);
  EXPECT_THAT(svg,
              HasSubstr("<svg class=\"picture\" x=\"16\" y=\"36\" "
                        "width=\"192\" height=\"96\" viewBox=\"0 0 2 1\">"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.80\"><title>1.000</title>"));
  // The fifth picture must be in a second row.
  EXPECT_THAT(svg, HasSubstr("x=\"652\" y=\"36\""));
  EXPECT_THAT(svg, HasSubstr("x=\"16\" y=\"172\""));
}

TEST(FiguresSvgTest, NoFiguresGiveAnEmptyImage) {
  EXPECT_TRUE(absl::EndsWith(FiguresSvg({}), "</svg>\n"));
  LabelledMatrix map = {.title = "empty", .heads = {{}}};
  EXPECT_THAT(FiguresSvg({GridOf(map)}), HasSubstr(">empty</text>"));
}

}  // namespace
}  // namespace regard
