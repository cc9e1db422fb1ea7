#include "experiments/report/table_text.h"

#include "gtest/gtest.h"

namespace regard {
namespace {

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
