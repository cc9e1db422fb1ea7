#include "data/text/wordpiece.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

WordPiece Of(const std::vector<std::string>& tokens,
             const WordPieceOptions& options = {}) {
  std::vector<std::string> all = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  all.insert(all.end(), tokens.begin(), tokens.end());
  return WordPiece::Create(all, "vocab.txt", options).value();
}

WordPieceOptions Named(const std::string& name) {
  WordPieceOptions options;
  if (name == "cased" || name == "cased_stripped") options.lower_case = false;
  if (name == "cased_stripped") options.strip_accents = true;
  if (name == "accents") options.strip_accents = false;
  if (name == "raw") {
    options.clean_text = false;
    options.split_chinese = false;
  }
  return options;
}

// The ids must be the same as in the file that
// tools/parity/write_wordpiece_fixture.py wrote with the `tokenizers` library.
TEST(WordPieceTest, AgreesWithTheTokenizersLibrary) {
  std::ifstream file("data/text/testdata/wordpiece.txt");
  std::string vocabulary;
  std::string line;
  while (std::getline(file, line) && !line.empty()) {
    absl::StrAppend(&vocabulary, line, "\n");
  }
  int cases = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    ASSERT_EQ(fields.size(), 3) << line;
    std::string text;
    ASSERT_TRUE(absl::CUnescape(fields[1], &text)) << line;
    const auto pieces =
        WordPiece::Parse(vocabulary, "vocab.txt", Named(fields[0]));
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    EXPECT_EQ(absl::StrJoin(pieces->Tokenize(text), " "), fields[2]) << line;
    ++cases;
  }
  EXPECT_GE(cases, 200);
}

// With longer tokens, a text of long words would take hours.
TEST(WordPieceTest, ATokenIsCapped) {
  const auto create = [](size_t bytes, int64_t longest_word) {
    WordPieceOptions options;
    options.longest_word = longest_word;
    return WordPiece::Create(
               {"[UNK]", "[CLS]", "[SEP]", std::string(bytes, 'a')},
               "vocab.txt", options)
        .status();
  };
  EXPECT_TRUE(create(512, 1000).ok());
  EXPECT_THAT(create(513, 1000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "vocab.txt:4: error: the token has 513 bytes; at most "
                       "512 are allowed"));
  // A token that is longer than any word must not be an error, because a
  // vocabulary that is made from a text may contain such tokens.
  EXPECT_TRUE(create(513, 512).ok());
  const WordPiece pieces = Of({std::string(600, 'a'), "a"});
  EXPECT_THAT(pieces.Tokenize(std::string(600, 'a')),
              ElementsAre(pieces.unknown()));
}

TEST(WordPieceTest, EncodesBetweenSpecialTokensAndCuts) {
  const WordPiece pieces = Of({"a", "b"});
  EXPECT_THAT(pieces.Encode("a b a", 16), ElementsAre(2, 5, 6, 5, 3));
  EXPECT_THAT(pieces.Encode("a b a", 5), ElementsAre(2, 5, 6, 5, 3));
  EXPECT_THAT(pieces.Encode("a b a", 4), ElementsAre(2, 5, 6, 3));
  EXPECT_THAT(pieces.Encode("a", 2), ElementsAre(2, 3));
  EXPECT_THAT(pieces.Encode("", 16), ElementsAre(2, 3));
  std::string words;
  for (int i = 0; i < 10000; ++i) words += "b ";
  EXPECT_EQ(pieces.Tokenize(words).size(), 10000);
  EXPECT_EQ(pieces.Encode(words, 512).size(), 512);
}

TEST(WordPieceTest, CutsTheLongerOfTwoTextsFirst) {
  const WordPiece pieces = Of({"a", "b"});
  const auto both = [&](int a, int b, int64_t longest) {
    const EncodedPair pair = pieces.EncodePair(
        absl::StrJoin(std::vector<std::string>(a, "a"), " "),
        absl::StrJoin(std::vector<std::string>(b, "b"), " "), longest);
    EXPECT_EQ(pair.ids[pair.second - 1], pieces.separator());
    EXPECT_EQ(pair.ids.front(), pieces.classifier());
    EXPECT_EQ(pair.ids.back(), pieces.separator());
    EXPECT_EQ(pair.ids.size(), std::ranges::count(pair.ids, 5) +
                                   std::ranges::count(pair.ids, 6) + 3);
    return std::vector<int64_t>{pair.second - 2,
                                std::ssize(pair.ids) - pair.second - 1};
  };
  const EncodedPair short_pair = pieces.EncodePair("a b", "b", 6);
  EXPECT_THAT(short_pair.ids, ElementsAre(2, 5, 6, 3, 6, 3));
  EXPECT_EQ(short_pair.second, 4);
  // The lengths are the same as with AutoTokenizer(...,
  // truncation="longest_first") of transformers 5.24.
  EXPECT_THAT(both(2, 9, 12), ElementsAre(2, 7));
  EXPECT_THAT(both(9, 2, 12), ElementsAre(7, 2));
  EXPECT_THAT(both(9, 5, 12), ElementsAre(5, 4));
  EXPECT_THAT(both(5, 9, 12), ElementsAre(4, 5));
  EXPECT_THAT(both(9, 9, 12), ElementsAre(4, 5));
  EXPECT_THAT(both(9, 9, 11), ElementsAre(4, 4));
  EXPECT_THAT(both(4, 9, 12), ElementsAre(4, 5));
  EXPECT_THAT(both(0, 9, 4), ElementsAre(0, 1));
  EXPECT_THAT(both(9, 1, 4), ElementsAre(1, 0));
  EXPECT_THAT(both(9, 9, 3), ElementsAre(0, 0));
  // In this case, the result differs from transformers, which ignores an empty
  // second text.
  EXPECT_THAT(both(0, 0, 3), ElementsAre(0, 0));
}

TEST(WordPieceTest, ReadsAnyBytes) {
  const WordPiece pieces = Of({"a", "##b"});
  EXPECT_THAT(pieces.Tokenize("a\xff\xc3"), ElementsAre(5));
  EXPECT_THAT(pieces.Tokenize("\xff"), IsEmpty());
  EXPECT_THAT(pieces.Tokenize("a\xe4\xb8"
                              "b"),
              ElementsAre(5, 6));
}

TEST(WordPieceTest, WordsMayKeepTheirPunctuation) {
  WordPieceOptions options;
  options.split_punctuation = false;
  const WordPiece pieces = Of({"@-@", "a.", "<unk>"}, options);
  EXPECT_THAT(pieces.Tokenize("@-@ A. <unk> a"), ElementsAre(5, 6, 7, 1));
}

TEST(WordPieceTest, SplitsWords) {
  WordPieceOptions options;
  EXPECT_THAT(Of({}, options).SplitWords(" Caf\u00e9, <b>"),
              ElementsAre("cafe", ",", "<", "b", ">"));
  options.split_punctuation = false;
  options.strip_accents = false;
  const WordPiece pieces = Of({}, options);
  EXPECT_THAT(pieces.SplitWords(" Caf\u00e9, <b>\n"),
              ElementsAre("caf\u00e9,", "<b>"));
  EXPECT_THAT(pieces.SplitWords(""), IsEmpty());
  EXPECT_THAT(pieces.SplitWords("a[MASK]b [UNK] [mask]"),
              ElementsAre("a", "b", "[mask]"));
}

// The text must be the same as the text that `tokenizers` decodes without
// special tokens.
TEST(WordPieceTest, DecodesWhatItEncoded) {
  const WordPiece pieces =
      Of({"a", "cat", "##s", "sit", "##ting", ".", ",", "?", "!", "'"});
  const auto decoded = [&](absl::string_view text) {
    return pieces.Decode(pieces.Encode(text, 100));
  };
  EXPECT_EQ(decoded("Cats, a cat's sitting. A CAT? Cat!"),
            "cats, a cat ' sitting. a cat? cat!");
  EXPECT_EQ(decoded("a zebra cat"), "a cat");
  EXPECT_EQ(decoded(""), "");
  // The first "##s" has no word to continue. No token has the id 15 or -1.
  EXPECT_EQ(pieces.Decode({7, 7, 15, 5, -1, 7}), "##ss as");
}

TEST(WordPieceTest, FillsInItsMasks) {
  const WordPiece pieces = Of({"a", "cat", "##s"});
  const auto filled = [&](absl::string_view text,
                          const std::vector<absl::string_view>& tokens) {
    std::vector<int32_t> ids;
    for (absl::string_view token : tokens) ids.push_back(pieces.Find(token));
    return pieces.FillIn(text, ids);
  };
  EXPECT_EQ(filled("The  [MASK], [UNK]!", {"cat"}), "The  cat, [UNK]!");
  EXPECT_EQ(filled("dog [MASK] [MASK][MASK]", {"##s", "a", "cat"}),
            "dogs acat");
  EXPECT_EQ(filled("[MASK] [MASK]", {"##s"}), "s [MASK]");
  EXPECT_EQ(filled("[mask]", {}), "[mask]");
}

TEST(WordPieceTest, FindsItsTokens) {
  const WordPiece pieces = Of({"a", "##b", "##"});
  EXPECT_EQ(pieces.size(), 8);
  EXPECT_EQ(pieces.Token(6), "##b");
  EXPECT_EQ(pieces.Find("##b"), 6);
  EXPECT_EQ(pieces.Find("b"), -1);
  EXPECT_TRUE(pieces.ContinuesWord(6));
  EXPECT_FALSE(pieces.ContinuesWord(5));
  EXPECT_FALSE(pieces.ContinuesWord(7));
  EXPECT_TRUE(pieces.IsSpecial(pieces.mask()));
  EXPECT_FALSE(pieces.IsSpecial(5));
  const auto again =
      WordPiece::Parse(pieces.ToText(), "vocab.txt", WordPieceOptions());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ToText(), pieces.ToText());
  EXPECT_DEATH(pieces.Token(8), "8 vs. 8");
  EXPECT_DEATH(pieces.Encode("a", 1), "at most 1 ids");
  EXPECT_DEATH(pieces.EncodePair("a", "a", 2), "at most 2 ids");
}

TEST(WordPieceTest, NamesAllProblemsOfAVocabulary) {
  const auto of = [](absl::string_view text) {
    return WordPiece::Parse(text, "v.txt", WordPieceOptions()).status();
  };
  EXPECT_THAT(
      of("[UNK]\na\n\na\n[CLS]\nb\xff\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("v.txt:3: error: the line is empty"),
                     HasSubstr("v.txt:4: error: token 'a' must occur only "
                               "once, but is already on line 2"),
                     HasSubstr("v.txt:6: error: the token must be valid UTF-8"),
                     HasSubstr("the file must contain the token [SEP]"),
                     Not(HasSubstr("[MASK]")))));
  EXPECT_THAT(of(""), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("v.txt:1: error: the line is empty")));
  std::string many = "[UNK]\n[CLS]\n[SEP]\n";
  for (int i = 0; i < 30; ++i) many += "same\n";
  EXPECT_THAT(of(many), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("v.txt: 9 more errors")));
  // Lines may end with \r\n. The padding and mask tokens may be missing.
  const auto pieces =
      WordPiece::Parse("[UNK]\r\n[CLS]\r\n[SEP]\r\na", "v.txt", {});
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  EXPECT_EQ(pieces->mask(), -1);
  EXPECT_EQ(pieces->Find("[PAD]"), -1);
  EXPECT_THAT(pieces->Tokenize("a [MASK]"), ElementsAre(3, 0, 0, 0));
}

}  // namespace
}  // namespace regard
