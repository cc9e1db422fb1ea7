#include "language/cut_note.h"

#include "data/text/wordpiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CutNotesTest, ReportTheReadPart) {
  const WordPiece pieces =
      WordPiece::Parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n", "v", {}).value();
  // The tokens are [CLS] a a ##b [SEP].
  EXPECT_THAT(TruncationNotes(pieces, {"a ab"}, 5), IsEmpty());
  EXPECT_THAT(TruncationNotes(pieces, {"a ab"}, 4),
              ElementsAre("is cut: only 4 of 5 tokens are read"));
  EXPECT_THAT(TruncationNotes(pieces, {"a ab", "a"}, 7), IsEmpty());
  EXPECT_THAT(TruncationNotes(pieces, {"a ab", "a"}, 6),
              ElementsAre("is cut: only 6 of 7 tokens are read"));
}

}  // namespace
}  // namespace regard
