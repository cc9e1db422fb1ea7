#include "files/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns `pieces` one by one. An empty piece stands for an interrupted call.
LineReader::ReadBytes Pieces(std::vector<std::string> pieces) {
  return [pieces, next = size_t{0}](char* bytes, size_t) mutable -> ssize_t {
    if (next == pieces.size()) return 0;
    const std::string& piece = pieces[next++];
    if (piece.empty()) {
      errno = EINTR;
      return -1;
    }
    std::copy(piece.begin(), piece.end(), bytes);
    return static_cast<ssize_t>(piece.size());
  };
}

// Returns the remaining lines. A truncated line ends with "...".
std::vector<std::string> Lines(LineReader& reader) {
  std::vector<std::string> lines;
  std::string line;
  bool cut;
  while (reader.Next(&line, &cut)) lines.push_back(line + (cut ? "..." : ""));
  return lines;
}

TEST(LineReaderTest, JoinsThePiecesOfALine) {
  LineReader reader(Pieces({"ab\nc", "", "d", "\n", "\nla", "st"}), 100);
  EXPECT_THAT(Lines(reader), ElementsAre("ab", "cd", "", "last"));
  EXPECT_THAT(reader.status("pieces"), IsOk());
}

TEST(LineReaderTest, EmptyInputHasNoLine) {
  LineReader reader(Pieces({}), 100);
  EXPECT_THAT(Lines(reader), IsEmpty());
}

TEST(LineReaderTest, CutsLinesThatExceedTheLimit) {
  LineReader reader(Pieces({"abc\nabcd\nab", "c", "d", "e\nf\n"}), 3);
  EXPECT_THAT(Lines(reader), ElementsAre("abc", "abc...", "abc...", "f"));
}

TEST(LineReaderTest, AcceptsAllLineEnds) {
  const std::string text = "a\r\n\rb\rc\n\n\r\rd\r";
  // The lines must not depend on how the bytes are divided into pieces.
  for (size_t first = 0; first <= text.size(); ++first) {
    std::vector<std::string> pieces = {text.substr(0, first),
                                       text.substr(first)};
    LineReader reader(Pieces(pieces), 4);
    EXPECT_THAT(Lines(reader), ElementsAre("a", "", "b", "c", "", "", "", "d"))
        << first;
    EXPECT_EQ(reader.carriage_returns(), 6) << first;
  }
}

TEST(LineReaderTest, CarriageReturnsCanBeCharacters) {
  LineReader reader(Pieces({"a\r", "\n\r\nb\rc\n\r\r\nabc\rd\ne\r"}), 4,
                    LineEnds::kNewline);
  EXPECT_THAT(Lines(reader),
              ElementsAre("a", "", "b\rc", "\r", "abc\r...", "e"));
  EXPECT_EQ(reader.carriage_returns(), 4);
}

TEST(LineReaderTest, LeavesAByteOrderMarkOut) {
  for (const LineEnds ends : {LineEnds::kAny, LineEnds::kNewline}) {
    LineReader reader(Pieces({"\xef", "\xbb\xbf", "abcd\n\xef\xbb\xbf\n"}), 4,
                      ends);
    EXPECT_THAT(Lines(reader), ElementsAre("abcd", "\xef\xbb\xbf"));
    EXPECT_TRUE(reader.byte_order_mark());
    LineReader cut(Pieces({"\xef\xbb\xbf", "abcde\nabcde"}), 4, ends);
    EXPECT_THAT(Lines(cut), ElementsAre("abcd...", "abcd..."));
    LineReader without(Pieces({"abcde\n"}), 4, ends);
    EXPECT_THAT(Lines(without), ElementsAre("abcd..."));
    LineReader alone(Pieces({"\xef\xbb\xbf"}), 4, ends);
    EXPECT_THAT(Lines(alone), IsEmpty());
  }
}

TEST(LineReaderTest, SaysWhyReadingEnded) {
  const auto status = [](int error) {
    LineReader reader(
        [error](char*, size_t) {
          errno = error;
          return ssize_t{-1};
        },
        100);
    EXPECT_THAT(Lines(reader), IsEmpty());
    return reader.status("a pipe");
  };
  EXPECT_EQ(status(EIO).message(),
            "error: a pipe: cannot read: Input/output error");
  EXPECT_TRUE(IsMachineFailure(status(EIO)));
  EXPECT_TRUE(IsMachineFailure(status(EBADF)));
  EXPECT_FALSE(IsMachineFailure(status(EISDIR)));
}

TEST(LineReaderTest, IsReadyIfALineIsAvailable) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LineReader reader(ends[0], 100);
  EXPECT_FALSE(reader.HasPendingLine());
  ASSERT_EQ(write(ends[1], "a\nb\nc", 5), 5);
  EXPECT_TRUE(reader.HasPendingLine());
  std::string line;
  bool cut;
  ASSERT_TRUE(reader.Next(&line, &cut));
  EXPECT_TRUE(reader.HasPendingLine());
  ASSERT_TRUE(reader.Next(&line, &cut));
  EXPECT_EQ(line, "b");
  EXPECT_FALSE(reader.HasPendingLine());
  close(ends[1]);
  EXPECT_THAT(Lines(reader), ElementsAre("c"));
  close(ends[0]);
}

}  // namespace
}  // namespace regard
