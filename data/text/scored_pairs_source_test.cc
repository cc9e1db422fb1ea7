#include "data/text/scored_pairs_source.h"

#include <zlib.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/text/scored_pairs.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::StatusOr<ScoredPairsData> Read(absl::string_view text, double dev = 0,
                                     double test = 0, double highest = 1) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/pairs.tsv");
  std::ofstream(path, std::ios::binary) << text;
  ScoredPairsConfig config;
  config.set_dev_fraction(dev);
  config.set_test_fraction(test);
  config.set_highest(highest);
  return ReadScoredPairs(path, config);
}

std::string ErrorOf(absl::string_view text) {
  return std::string(Read(text).status().message());
}

TEST(ScoredPairSplitsTest, SplitsLines) {
  const auto data =
      Read("a b\tc\t4\r\n\n\td\t-1e-1\ne\tf\t0\ng\th\t5\n", 0.25, 0.25, 5);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_THAT(data->splits.train, SizeIs(2));
  EXPECT_EQ(data->splits.train[0].first, "a b");
  EXPECT_EQ(data->splits.train[0].second, "c");
  EXPECT_DOUBLE_EQ(data->splits.train[0].score, 0.8);
  EXPECT_EQ(data->splits.train[1].first, "");
  EXPECT_DOUBLE_EQ(data->splits.train[1].score, -0.02);
  ASSERT_THAT(data->splits.dev, SizeIs(1));
  EXPECT_EQ(data->splits.dev[0].first, "e");
  ASSERT_THAT(data->splits.test, SizeIs(1));
  EXPECT_EQ(data->splits.test[0].second, "h");
  EXPECT_EQ(data->digests.count("data.path"), 1);
}

// The file has one line of 64 KiB more than the limit of 256 MiB, line ends
// included. The error must be reported in this line.
TEST(ScoredPairSplitsTest, AllTextIsCapped) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/pairs.tsv.gz");
  const std::string line =
      absl::StrCat("a\t", std::string((1 << 16) - 5, 'b'), "\t1\n");
  const gzFile file = gzopen(path.c_str(), "wb1");
  for (int i = 0; i < (1 << 12) + 1; ++i) {
    gzwrite(file, line.data(), static_cast<unsigned>(line.size()));
  }
  gzclose(file);
  EXPECT_EQ(ReadScoredPairs(path, ScoredPairsConfig()).status().message(),
            absl::StrCat(path,
                         ":4097:1: error: the scored pairs exceed the limit of "
                         "256 MiB; remove lines"));
}

TEST(ScoredPairSplitsTest, TestMayTakeAll) {
  const auto data = Read("a\tb\t1\nc\td\t0\n", 0, 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->splits.train, IsEmpty());
  EXPECT_THAT(data->splits.dev, IsEmpty());
  EXPECT_THAT(data->splits.test, SizeIs(2));
}

TEST(ScoredPairSplitsTest, SaysWhereAFileIsBroken) {
  EXPECT_THAT(ErrorOf("a\tb\t1\na\t1\n"),
              HasSubstr("pairs.tsv:2:1: error: each line must be two texts and "
                        "a number, separated by tabs; got 1 tabs"));
  EXPECT_THAT(ErrorOf("a\tb\tc\t1\n"), HasSubstr("got 3 tabs"));
  EXPECT_THAT(
      ErrorOf("ab\tc\tfive\n"),
      HasSubstr("pairs.tsv:1:6: error: expected a finite number, got 'five'"));
  EXPECT_THAT(ErrorOf("a\tb\tinf\n"),
              HasSubstr(":1:5: error: expected a finite"));
  EXPECT_THAT(ErrorOf("\n"),
              HasSubstr("pairs.tsv: error: the file is empty; each"));
}

}  // namespace
}  // namespace regard
