#include "data/text_file.h"

#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/testing/faulty_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_macros.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Path(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

void Write(const std::string& name, const std::string& bytes) {
  std::ofstream(Path(name), std::ios::binary) << bytes;
}

// Returns the bytes of a gzip file.
std::string Zipped(const std::string& text) {
  const gzFile file = gzopen(Path("zipped").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ostringstream bytes;
  bytes << std::ifstream(Path("zipped"), std::ios::binary).rdbuf();
  return bytes.str();
}

absl::StatusOr<std::vector<std::string>> Lines(const std::string& name) {
  REGARD_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(Path(name), "data"));
  std::vector<std::string> lines;
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool more, file.Next());
    if (!more) return lines;
    lines.emplace_back(file.text());
  }
}

TEST(TextFileTest, EveryMemberOfAGzipIsReadWhole) {
  const std::string one = Zipped("a b\nc d\n");
  const std::string two = Zipped("e f\n");
  Write("text.gz", one + two);
  EXPECT_THAT(*Lines("text.gz"), ElementsAre("a b", "c d", "e f"));
  // The second member is damaged, truncated, or not a gzip member.
  std::string damaged = two;
  damaged[damaged.size() - 6] ^= 1;
  for (const std::string& rest :
       {damaged, two.substr(0, two.size() - 3), std::string("garbage")}) {
    Write("text.gz", one + rest);
    EXPECT_THAT(Lines("text.gz").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the compressed file is")));
  }
}

TEST(TextFileTest, ZerosAfterAGzipAreIgnored) {
  Write("text.gz", Zipped("a b\nc d\n") + std::string(512, '\0'));
  EXPECT_THAT(*Lines("text.gz"), ElementsAre("a b", "c d"));
  // The zeros continue beyond the first chunk of the file that is read.
  Write("text.gz", Zipped("a b\n") + std::string(200000, '\0') + Zipped("c"));
  EXPECT_THAT(*Lines("text.gz"), ElementsAre("a b", "c"));
}

TEST(TextFileTest, AWholeTextMayBeCompressed) {
  const std::string text =
      "\xef\xbb\xbf"
      "a b\nc d\n";
  Write("text.gz", Zipped(text) + Zipped("e"));
  const auto whole = ReadWholeText(Path("text.gz"), "text", "");
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ(whole->text, "a b\nc d\ne");
  Write("text.gz", Zipped(text) + "garbage");
  EXPECT_THAT(ReadWholeText(Path("text.gz"), "text", "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("text.gz: error: byte ")));
}

TEST(TextFileTest, ATruncatedGzipIsALocatedError) {
  const std::string whole = Zipped("one\ntwo\nthree\n");
  for (size_t size = 2; size < whole.size(); ++size) {
    Write("text.gz", whole.substr(0, size));
    EXPECT_THAT(Lines("text.gz").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("text.gz:"),
                               HasSubstr("the compressed file is cut short"))))
        << size << " bytes of " << whole.size();
  }
}

TEST(TextFileTest, LongTextsArePlainOrCompressed) {
  std::string text;
  for (int i = 0; i < 50000; ++i) absl::StrAppend(&text, "line ", i * 7, "\n");
  Write("plain", text);
  Write("text.gz", Zipped(text));
  const auto plain = Lines("plain");
  ASSERT_THAT(plain, IsOk());
  ASSERT_THAT(*plain, SizeIs(50000));
  EXPECT_EQ(plain->back(), "line 349993");
  EXPECT_EQ(*Lines("text.gz"), *plain);
}

TEST(TextFileTest, DiskErrorsAreMachineFailures) {
  static FileOperations system;
  std::string text;
  for (int i = 0; i < 50000; ++i) {
    absl::StrAppend(&text, i * 7919 % 50021, "\n");
  }
  for (const std::string& bytes :
       {text, Zipped(text), Zipped("one\n") + Zipped(text)}) {
    Write("text", bytes);
    int failures = 0;
    absl::Status status = absl::UnknownError("");
    while (!status.ok()) {
      FaultyFiles faulty(FileFaultKind::kIoError, failures + 1);
      ReplaceSystemFilesForTest(faulty);
      status = Lines("text").status();
      ReplaceSystemFilesForTest(system);
      if (status.ok()) break;  // only closing the file has failed
      ++failures;
      EXPECT_TRUE(IsMachineFailure(status)) << failures << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("error: "), HasSubstr("Input/output error")));
    }
    // One of the calls opens the file, and the other calls read its chunks.
    EXPECT_EQ(failures, 2 + bytes.size() / 65536);
  }
}

TEST(TextFileTest, MayBeEmptyPlainOrCompressed) {
  Write("plain", "");
  Write("text.gz", Zipped(""));
  EXPECT_THAT(*Lines("plain"), SizeIs(0));
  EXPECT_THAT(*Lines("text.gz"), SizeIs(0));
}

}  // namespace
}  // namespace regard
