#include "experiments/report/terminal_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LabelledMatrix TwoByTwo(std::vector<double> weights) {
  return {
      .rows = {"le", "chat"}, .columns = {"the", "cat"}, .heads = {weights}};
}

TEST(AlignmentTextTest, DrawsDarkerShadesForLargerWeights) {
  EXPECT_EQ(AlignmentText(TwoByTwo({0.9, 0.1, 0.4, 0.6}), {.width = 80}),
            "     the cat\n"
            "  le ███ ░░░\n"
            "chat ▒▒▒ ▓▓▓\n");
}

TEST(AlignmentTextTest, ShadesBeginAtTheirCuts) {
  const std::vector<double> cuts = {0.0999, 0.1, 0.2999, 0.3,
                                    0.4999, 0.5, 0.7999, 0.8};
  EXPECT_EQ(AlignmentText({.rows = {"r"},
                           .columns = std::vector<std::string>(8, "c"),
                           .heads = {cuts}},
                          {.width = 80, .unicode = false}),
            "  c c c c c c c c\nr   . . : : * * #\n");
}

TEST(AlignmentTextTest, WordsTakeTwelveColumnsAndLabelsAQuarter) {
  EXPECT_EQ(AlignmentText({.rows = {"123456789012345678901"},
                           .columns = {"1234567890123", "2"},
                           .heads = {{0, 1}}},
                          {.width = 80, .unicode = false}),
            "                     12345678901~ 2\n"
            "1234567890123456789~              #\n");
  EXPECT_EQ(AlignmentText(
                {.rows = {"1234567890123"}, .columns = {"2"}, .heads = {{1}}},
                {.width = 20, .unicode = false}),
            "             2\n12345678901~ #\n");
}

TEST(AlignmentTextTest, FallsBackToAscii) {
  EXPECT_EQ(AlignmentText(TwoByTwo({0.9, 0.05, 0.4, 0.6}),
                          {.width = 80, .unicode = false}),
            "     the cat\n"
            "  le ###\n"
            "chat ::: ***\n");
}

TEST(AlignmentTextTest, BracketsGoldCells) {
  LabelledMatrix map = TwoByTwo({0.9, 0.05, 0.0, 0.9});
  map.gold = {{0, 0}, {1, 0}, {1, 1}};
  EXPECT_EQ(AlignmentText(map, {.width = 80, .unicode = false}),
            "     the cat\n"
            "  le[###]\n"
            "chat[   |###]\n");
}

TEST(AlignmentTextTest, ShowsTheMeanOverHeads) {
  LabelledMatrix map = TwoByTwo({1, 0, 0, 1});
  map.heads.push_back({0, 1, 0, 1});
  EXPECT_EQ(AlignmentText(map, {.width = 80, .unicode = false}),
            "     the cat\n"
            "  le *** ***\n"
            "chat     ###\n");
}

// The mean over the heads of a state mixer can have positive and negative
// weights.
TEST(AlignmentTextTest, ShowsMagnitudesOfWeightsOfEitherSign) {
  LabelledMatrix map = TwoByTwo({.02, 0, -.08, .04});
  EXPECT_EQ(AlignmentText(map, {.width = 80, .unicode = false}),
            "     the cat\n"
            "  le ...\n"
            "chat ### ***\n"
            "(some weights are negative: shades show magnitudes as "
            "fractions of the largest, 0.08)\n");
  map.heads.push_back({.99, 0, .44, .79});
  EXPECT_EQ(AlignmentText(map, {.width = 80, .unicode = false}),
            "     the cat\n"
            "  le ***\n"
            "chat ... :::\n");
}

TEST(AlignmentTextTest, KeepsColumnsStraightUnderWideCharacters) {
  const LabelledMatrix map = {
      .rows = {"東", "x"}, .columns = {"京都", "b"}, .heads = {{1, 1, 1, 1}}};
  EXPECT_EQ(AlignmentText(map, {.width = 80, .unicode = false}),
            "   京都 b\n"
            "東 #### #\n"
            " x #### #\n");
}

TEST(AlignmentTextTest, StripsControlCharacters) {
  LabelledMatrix map = TwoByTwo({1, 0, 0, 1});
  map.columns[0] = "\x1b[2Jthe\n";
  EXPECT_THAT(AlignmentText(map, {.width = 80}), Not(HasSubstr("\x1b")));
}

TEST(AlignmentTextTest, FitsAnyWidthByCuttingWordsThenColumns) {
  LabelledMatrix map;
  for (int i = 0; i < 40; ++i) {
    map.columns.push_back(absl::StrCat("extraordinary", i));
  }
  map.rows = {"incomprehensibilities"};
  map.heads = {std::vector<double>(40, 1.0)};
  for (const int width : {40, 80, 120}) {
    const std::string text = AlignmentText(map, {.width = width});
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
  EXPECT_THAT(AlignmentText(map, {.width = 40}),
              HasSubstr("(27 more columns do not fit)"));
  EXPECT_THAT(AlignmentText(map, {.width = 120}), Not(HasSubstr("more")));
}

TEST(AlignmentTextTest, DrawsAnEmptyMatrix) {
  EXPECT_EQ(AlignmentText({.heads = {{}}}, {.width = 80}), "\n");
}

TEST(AlignmentTextDeathTest, RejectsAHeadOfAnotherSize) {
  EXPECT_DEATH(AlignmentText(TwoByTwo({1, 0, 0}), {.width = 80}), "3 vs. 4");
}

TEST(TableTextTest, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(TableText({{"word", "log p"}, {{"ils", "-0.1"}, {"", "-10"}}}, 20),
            "word  log p\n"
            "ils   -0.1\n"
            "      -10\n");
}

TEST(TableTextTest, LinesAreIndented) {
  EXPECT_EQ(TableText({{"a", "b"}, {{"1", ""}}}, 20, "  "), "  a  b\n  1\n");
}

TEST(TableTextTest, LongCellsAreCutAndWideCharactersCounted) {
  EXPECT_EQ(TableText({{"a", "b"}, {{"abcdef", "1"}, {"猫", "2"}}}, 4),
            "a     b\n"
            "abc~  1\n"
            "猫    2\n");
}

TEST(TableTextTest, CellsCannotMoveTheCursor) {
  EXPECT_EQ(TableText({{"a"}, {{"\x1b[1mb\nc"}}}, 20), "a\n[1mb c\n");
}

TEST(TableTextTest, MayBeEmpty) { EXPECT_EQ(TableText({}, 20), ""); }

}  // namespace
}  // namespace regard
