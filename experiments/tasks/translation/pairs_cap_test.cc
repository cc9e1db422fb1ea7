#include <zlib.h>

#include <any>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/data.pb.h"
#include "data/data_source.h"
#include "experiments/tasks/built_in_plugins.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

// Each side is a small compressed file with lines of 64 KiB. Together, the two
// files expand to more than 2 GiB.
TEST(PairsCapTest, AllTextOfASplitIsCapped) {
  const std::string one = absl::StrCat(::testing::TempDir(), "/one.gz");
  const gzFile file = gzopen(one.c_str(), "wb");
  const std::string line = std::string((1 << 16) - 1, 'a') + "\n";
  for (int i = 0; i < 16; ++i) {
    gzwrite(file, line.data(), static_cast<unsigned>(line.size()));
  }
  gzclose(file);
  const std::string member = ReadFile(one).value();
  std::string all;
  for (int i = 0; i < 1025; ++i) all += member;
  const std::string sides[] = {absl::StrCat(::testing::TempDir(), "/s.gz"),
                               absl::StrCat(::testing::TempDir(), "/t.gz")};
  for (const std::string& side : sides) {
    std::ofstream(side, std::ios::binary) << all;
  }
  Data data;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("pairs { dev_sample: 1 subwords {} train { source: '",
                   sides[0], "' target: '", sides[1], "' } }"),
      &data));
  EXPECT_THAT(BuiltInPlugins().data.Create(data)->LoadAny({}),
              ::regard::testing::StatusIs(
                  absl::StatusCode::kInvalidArgument,
                  ::testing::HasSubstr(
                      "s.gz:16385:1: error: more than 2 GiB of pairs; set "
                      "max_pairs to read only the first pairs of `train`")));
}

}  // namespace
}  // namespace regard
