#include "files/sha256.h"

#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

// The digests must be equal to the published examples of FIPS 180-4.
TEST(Sha256Test, PublishedDigests) {
  EXPECT_EQ(Sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  const std::string bytes(1000, 'a');
  Sha256 pieces;
  for (int begin = 0; begin < 1000; begin += 8) {
    pieces.Update(absl::string_view(bytes).substr(begin, 8));
  }
  EXPECT_EQ(pieces.HexDigest(), Sha256Hex(bytes));
}

TEST(Sha256Test, AFileHasTheDigestOfItsBytes) {
  const std::string path = ::testing::TempDir() + "/bytes";
  for (const int size : {0, 1 << 20, (1 << 21) + 7}) {
    const std::string bytes(static_cast<size_t>(size), 'b');
    std::ofstream(path) << bytes;
    const absl::StatusOr<RandomAccessFile> file = RandomAccessFile::Open(path);
    ASSERT_THAT(file, IsOk());
    const absl::StatusOr<std::string> digest = Sha256OfFile(*file);
    ASSERT_THAT(digest, IsOk());
    EXPECT_EQ(*digest, Sha256Hex(bytes));
  }
}

}  // namespace
}  // namespace regard
