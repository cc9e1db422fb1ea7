#include "data/table_source.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/column_scale.h"
#include "data/nadaraya_watson_data.h"
#include "data/table.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

constexpr char kWhole[] = "dev_fraction: 0 test_fraction: 0 ";

absl::StatusOr<RegressionData> Read(absl::string_view text,
                                    const std::string& options = kWhole,
                                    uint64_t seed = 1) {
  const std::string path = ::testing::TempDir() + "/table.csv";
  std::ofstream(path, std::ios::binary) << text;
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(options, &config));
  return ReadTable(path, config, seed);
}

Points All(absl::string_view text, const std::string& options = kWhole) {
  const auto data = Read(text, options);
  EXPECT_THAT(data, IsOk());
  return data.ok() ? data->training : Points();
}

TEST(TableTest, TheLastColumnIsPredictedFromTheOthers) {
  const auto data = Read("a,b,y\n1,2,3\n4,5,6\n");
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->training.width, 2);
  EXPECT_THAT(data->training.x, ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(data->training.y, ElementsAre(3, 6));
  EXPECT_THAT(data->x_names, ElementsAre("a", "b"));
  EXPECT_EQ(data->y_name, "y");
  EXPECT_FALSE(data->test_is_truth);
  EXPECT_THAT(data->digests.at("data.path"), SizeIs(64));
  EXPECT_EQ(data->dev.size(), 0);
  EXPECT_EQ(data->test.size(), 0);
}

TEST(TableTest, NeedsNoHeader) {
  const auto data = Read("1,2,3\n4,5,6");
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(data->training.y, ElementsAre(3, 6));
  EXPECT_THAT(data->x_names, ElementsAre("1", "2"));
  const std::string first = absl::StrCat(kWhole, "target: '1' columns: '3'");
  EXPECT_THAT(All("1,2,3\n4,5,6", first).x, ElementsAre(3, 6));
  EXPECT_THAT(All("1,2,3\n4,5,6", first).y, ElementsAre(1, 4));
}

TEST(TableTest, ColumnsAreChosenByName) {
  const std::string text = "y,\"big, one\",name,z\n1,2,3,4\n5,6,7,8\n";
  const Points points =
      All(text, absl::StrCat(kWhole, "target: 'y' columns: 'z, name'"));
  EXPECT_THAT(points.x, ElementsAre(4, 3, 8, 7));
  EXPECT_THAT(points.y, ElementsAre(1, 5));
  // Columns that are not selected may contain anything.
  EXPECT_THAT(
      All("who,x,y\nAda,1,2\n,3,4\n", absl::StrCat(kWhole, "columns: 'x'")).x,
      ElementsAre(1, 3));
}

TEST(TableTest, ReadsWhatOtherProgramsWrite) {
  // The text has a byte order mark, carriage returns, blanks, quotes and an
  // empty line.
  const Points points =
      All("\xef\xbb\xbf\"x\",y\r\n 1 , \"2\" \r\n\r\n3e0,\"-4.5\"\r\n");
  EXPECT_THAT(points.x, ElementsAre(1, 3));
  EXPECT_THAT(points.y, ElementsAre(2, -4.5));
  EXPECT_THAT(All("1;2\n3;4\n", absl::StrCat(kWhole, "separator: ';'")).y,
              ElementsAre(2, 4));
  EXPECT_THAT(All("1\t2\n3\t4\n", absl::StrCat(kWhole, "separator: 'tab'")).y,
              ElementsAre(2, 4));
}

TEST(TableTest, AcceptsAllLineEndsAndIgnoresBlankLines) {
  EXPECT_THAT(All("x,y\r1,2\r\n\u00a0\r\n\r3,4").y, ElementsAre(2, 4));
}

TEST(TableTest, PointsOfOneColumnAreInOrder) {
  const Points points = All("3,1\n1,2\n2,3\n1,4\n");
  EXPECT_THAT(points.x, ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(points.y, ElementsAre(2, 4, 3, 1));
}

std::string Rows(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) absl::StrAppend(&text, i, ",", 10 * i, "\n");
  return text;
}

TEST(TableTest, TheSeedDrawsDevAndTest) {
  const std::string options = "dev_fraction: 0.2 test_fraction: 0.3";
  const auto data = Read(Rows(100), options);
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->training.size(), 50);
  EXPECT_EQ(data->dev.size(), 20);
  EXPECT_EQ(data->test.size(), 30);
  std::vector<double> all = data->training.x;
  all.insert(all.end(), data->dev.x.begin(), data->dev.x.end());
  all.insert(all.end(), data->test.x.begin(), data->test.x.end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all[i], i);
  EXPECT_EQ(data->test.y[7], 10 * data->test.x[7]);
  EXPECT_EQ(Read(Rows(100), options)->test.x, data->test.x);
  EXPECT_NE(Read(Rows(100), options, 2)->test.x, data->test.x);
  const auto last = Read(Rows(10), options + " shuffle: false");
  EXPECT_THAT(last->dev.x, ElementsAre(5, 6));
  EXPECT_THAT(last->test.x, ElementsAre(7, 8, 9));
}

// In float32, times in seconds since 1970 are rounded to multiples of 128. A
// note must say how many different times remain.
TEST(TableTest, SaysWhichValuesBecomeEqual) {
  std::string text = "time,id,y\n";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&text, 1700000000 + i % 150, ",", i, ",", 0.1 * i, "\n");
  }
  const auto data = Read(text);
  ASSERT_THAT(data, IsOk());
  EXPECT_THAT(data->notes,
              ElementsAre(EndsWith(
                  "table.csv: column 'time': 150 different values become only "
                  "2 in float32, the precision of the model; with "
                  "data.table.standardize=true, 150 stay different")));
  EXPECT_THAT(data->x_scales, SizeIs(0));
  EXPECT_EQ(data->y_scale, ColumnScale());
  const auto standardized =
      Read(text, absl::StrCat(kWhole, "standardize: true"));
  EXPECT_THAT(standardized->notes, SizeIs(0));
  EXPECT_EQ(standardized->training.x, data->training.x);
  // The target column is also checked. Because of the outlier, the other values
  // become equal.
  const auto far = Read("1,1700000000\n2,1700000001\n3,-1e15\n",
                        absl::StrCat(kWhole, "standardize: true"));
  EXPECT_THAT(far->notes, ElementsAre(EndsWith(
                              "column '2': 3 different values become only 2 in "
                              "float32, the precision of the model")));
}

TEST(TableTest, StandardizesByTheTrainingPoints) {
  const auto data =
      Read("1,5,10\n1,7,20\n1,9,60\n1,99,999\n",
           "dev_fraction: 0.25 test_fraction: 0 shuffle: false standardize: "
           "true");
  ASSERT_THAT(data, IsOk());
  ASSERT_THAT(data->x_scales, SizeIs(2));
  EXPECT_EQ(data->x_scales[0], (ColumnScale{1, 1}));
  EXPECT_DOUBLE_EQ(data->x_scales[1].mean, 7);
  EXPECT_DOUBLE_EQ(data->x_scales[1].deviation, std::sqrt(8.0 / 3));
  EXPECT_DOUBLE_EQ(data->y_scale.mean, 30);
  EXPECT_DOUBLE_EQ(data->y_scale.deviation, std::sqrt(1400.0 / 3));
  EXPECT_THAT(data->dev.y, ElementsAre(999));
}

std::string ErrorOf(absl::string_view text,
                    const std::string& options = kWhole) {
  return std::string(Read(text, options).status().message());
}

TEST(TableTest, ReportsFieldsThatAreNotNumbers) {
  EXPECT_THAT(
      ErrorOf("x,y\n1,2\n3,\n"),
      EndsWith(
          "table.csv:3:3: error: column 'y' must be a number, but is empty"));
  EXPECT_THAT(
      ErrorOf("x,y\n1,2\n ,4\n"),
      EndsWith(
          "table.csv:3:2: error: column 'x' must be a number, but is empty"));
  EXPECT_THAT(
      ErrorOf("1,2\n3, four\n"),
      EndsWith(
          "table.csv:2:4: error: column '2' must be a number, got 'four'"));
  // A first line with text and numbers is not a header.
  EXPECT_THAT(
      ErrorOf("1,two\n3,4\n"),
      EndsWith("table.csv:1:3: error: column '2' must be a number, got 'two'"));
  for (const std::string number : {"nan", "inf", "-1e39", "1e999"}) {
    EXPECT_THAT(
        ErrorOf("x,y\n" + number + ",2\n"),
        EndsWith(
            "table.csv:2:1: error: column 'x' must be a finite number, got " +
            number));
  }
}

TEST(TableTest, SaysWhereRowsOrQuotesAreWrong) {
  EXPECT_THAT(ErrorOf("x,z,y\n1,2,3\n1,2\n"),
              EndsWith("table.csv:3:4: error: expected 3 fields, as in the "
                       "first line; got 2"));
  EXPECT_THAT(ErrorOf("x,y\n1,2,3,4\n"),
              EndsWith("table.csv:2:5: error: expected 2 fields, as in the "
                       "first line; got 4"));
  EXPECT_THAT(ErrorOf("x,y\n1,\"2\n"),
              EndsWith("table.csv:2:3: error: the quote is not closed; add \" "
                       "at the end of the field"));
  EXPECT_THAT(ErrorOf("x,y\n\"1\"2,3\n"),
              EndsWith("table.csv:2:4: error: expected a separator or the end "
                       "of the line after a closing quote"));
}

TEST(TableTest, SaysWhatColumnsThereAre) {
  const std::string text = "a,b,y\n1,2,3\n4,5,6\n";
  EXPECT_THAT(ErrorOf(text, "target: 'w'"),
              EndsWith("table.csv:1:1: error: there is no column 'w' for "
                       "data.table.target; the columns are a, b, y"));
  EXPECT_THAT(ErrorOf(text, "columns: 'a,w'"),
              EndsWith("no column 'w' for data.table.columns; the columns are "
                       "a, b, y"));
  EXPECT_THAT(ErrorOf(text, "columns: 'a,y'"),
              EndsWith("table.csv:1:5: error: column 'y' is the target and "
                       "must not be in data.table.columns"));
  EXPECT_THAT(ErrorOf("a,a,y\n1,2,3\n", "columns: 'a'"),
              EndsWith("two columns are named 'a'; rename one of them"));
  EXPECT_THAT(
      ErrorOf(",a,y\n0,2,3\n"),
      EndsWith(
          "table.csv:1:1: error: the column has no name; if it only numbers "
          "the rows, list the other columns in data.table.columns"));
  EXPECT_THAT(ErrorOf("1 2\n"),
              EndsWith("found one column; at least two columns, separated by "
                       "',', are required"));
}

TEST(TableTest, NeedsTwoPointsForTraining) {
  EXPECT_THAT(ErrorOf(""), EndsWith("the file has 0 points, 0 of them for "
                                    "training; training requires at least 2"));
  EXPECT_THAT(ErrorOf(Rows(3), "test_fraction: 0.6 dev_fraction: 0"),
              EndsWith("the file has 3 points, 1 of them for training; "
                       "training requires at least 2"));
  EXPECT_THAT(Read("", kWhole).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(Read(Rows(2)), IsOk());
}

TEST(TableTest, ColumnsAreCapped) {
  std::string line = "1";
  for (int i = 1; i < 4098; ++i) line += ",2";
  EXPECT_THAT(
      Read(line),
      StatusIs(absl::StatusCode::kInvalidArgument,
               EndsWith(":1:1: error: has 4097 input columns; at most 4096 are "
                        "allowed: select some with data.table.columns")));
  EXPECT_EQ(
      Read(absl::StrCat(line, "\n", line), absl::StrCat(kWhole, "columns: '1'"))
          ->training.width,
      1);
}

// The file has 513 MiB in lines of 64 KiB, line ends included. The error must
// be reported in the first line above 512 MiB.
TEST(TableTest, AllTextIsCapped) {
  const std::string path = ::testing::TempDir() + "/table.csv.gz";
  std::string lines;
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&lines, "1,2", std::string((1 << 16) - 4, ' '), "\n");
  }
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, lines.data(), static_cast<unsigned>(lines.size()));
  gzclose(file);
  std::ostringstream member;
  member << std::ifstream(path, std::ios::binary).rdbuf();
  std::ofstream all(path, std::ios::binary | std::ios::app);
  for (int i = 0; i < 512; ++i) all << member.str();
  all.close();
  EXPECT_EQ(ReadTable(path, TableConfig(), /*seed=*/1).status().message(),
            absl::StrCat(path,
                         ":8193:1: error: the file is larger than 512 MiB, the "
                         "limit for a table; remove rows or columns"));
}

}  // namespace
}  // namespace regard
