#include "files/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "files/testing/gzip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

// Returns a file with FEXTRA, FNAME, FCOMMENT and FHCRC.
std::string GzipWithFields(const std::string& content) {
  std::string extra("BC\2\0ab", 6);
  std::string name = "name.txt";
  std::string comment = "a comment";
  gz_header header = {};
  header.extra = reinterpret_cast<Bytef*>(extra.data());
  header.extra_len = 6;
  header.name = reinterpret_cast<Bytef*>(name.data());
  header.comment = reinterpret_cast<Bytef*>(comment.data());
  header.hcrc = 1;
  return Gzip(content, &header);
}

// Decompresses `bytes` with a GzipOrPlainReader. The reader receives at most
// `in` bytes at a time, and returns at most `out` bytes at a time. The first
// piece has at least two bytes, the magic number. Returns "problem: ..." if the
// reader has a problem.
std::string InPieces(const std::string& bytes, size_t in, size_t out) {
  absl::string_view rest = bytes;
  GzipOrPlainReader reader([&] {
    const size_t count =
        rest.size() == bytes.size() ? std::max<size_t>(in, 2) : in;
    const absl::string_view next = rest.substr(0, count);
    rest.remove_prefix(next.size());
    return next;
  });
  std::string content;
  std::string piece(out, '\0');
  while (const size_t count = reader.Read(absl::MakeSpan(piece))) {
    content += piece.substr(0, count);
  }
  return reader.problem().empty() ? content
                                  : absl::StrCat("problem: ", reader.problem());
}

TEST(GunzipTest, JoinsMembersAndHasALimit) {
  const std::string two = absl::StrCat(Gzip("abc"), Gzip("def"));
  EXPECT_EQ(*Gunzip(two, "file", 6), "abcdef");
  EXPECT_EQ(Gunzip(two, "file", 5).status().message(),
            "file: error: must have at most 5 bytes after decompression, but "
            "has more");
  EXPECT_EQ(*Gunzip("plain", "file", 5), "plain");
  EXPECT_EQ(*Gunzip("", "file", 5), "");
  EXPECT_THAT(
      std::string(Gunzip(Gzip("abc") + "more", "file", 9).status().message()),
      HasSubstr("file: error: byte 25: the compressed file is damaged"));
  EXPECT_THAT(
      std::string(
          Gunzip(Gzip("abc").substr(0, 20), "file", 9).status().message()),
      HasSubstr("file: error: byte 20: the compressed file is cut"));
}

TEST(GunzipTest, ReadsHeaderFieldsMembersAndTrailingZeros) {
  const std::string zeros(1000, '\0');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {GzipWithFields("abc"), "abc"},
      {Gzip("abc") + zeros, "abc"},
      {Gzip("abc") + '\0', "abc"},
      {GzipWithFields("abc") + GzipWithFields("def"), "abcdef"},
      {Gzip("abc") + Gzip("") + Gzip("def") + zeros, "abcdef"},
      {Gzip("abc") + zeros + GzipWithFields("def"), "abcdef"},
      {Gzip("") + zeros, ""},
      {"plain\x1f\x8b", "plain\x1f\x8b"},
      {"", ""},
  };
  for (const auto& [bytes, content] : cases) {
    const auto whole = Gunzip(bytes, "file", 100);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(*whole, content);
    for (const size_t in : {1, 7, 4096}) {
      for (const size_t out : {1, 2, 100}) {
        EXPECT_EQ(InPieces(bytes, in, out), content) << in << " " << out;
      }
    }
  }
}

TEST(GunzipTest, ADamagedHeaderIsAnError) {
  std::string bytes = GzipWithFields("abc");
  bytes[bytes.find("comment")] ^= 1;
  EXPECT_THAT(std::string(Gunzip(bytes, "file", 9).status().message()),
              HasSubstr("header crc mismatch"));
  EXPECT_THAT(InPieces(bytes, 1, 1), HasSubstr("header crc mismatch"));
}

TEST(GunzipTest, ACutFileIsAnErrorInPiecesOfAnySize) {
  const std::string bytes = Gzip("abc");
  for (size_t size = 2; size < bytes.size(); ++size) {
    EXPECT_THAT(InPieces(bytes.substr(0, size), 1, 1),
                HasSubstr("problem: the compressed file is cut short"))
        << size;
  }
}

}  // namespace
}  // namespace regard
