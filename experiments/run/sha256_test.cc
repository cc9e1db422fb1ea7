#include "experiments/run/sha256.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

// The published examples of FIPS 180-4.
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

}  // namespace
}  // namespace regard
