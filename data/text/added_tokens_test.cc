#include "data/text/added_tokens.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Split(const std::vector<AddedToken>& tokens,
                               absl::string_view text) {
  std::vector<std::string> parts;
  AddedTokens(tokens).Split(
      text, [&](absl::string_view rest) { parts.emplace_back(rest); },
      [&](const AddedToken& token, absl::string_view bytes) {
        parts.push_back(absl::StrCat(token.id, "[", bytes, "]"));
      });
  return parts;
}

TEST(AddedTokensTest, FindsTheLeftmostAndLongest) {
  const std::vector<AddedToken> tokens = {{.text = "ab", .id = 1},
                                          {.text = "abc", .id = 2},
                                          {.text = "bcd", .id = 3}};
  EXPECT_THAT(Split(tokens, "abcd"), ElementsAre("2[abc]", "d"));
  EXPECT_THAT(Split(tokens, "xabbcdab"),
              ElementsAre("x", "1[ab]", "3[bcd]", "1[ab]"));
  EXPECT_THAT(Split(tokens, "ba"), ElementsAre("ba"));
  EXPECT_THAT(Split(tokens, ""), IsEmpty());
  EXPECT_THAT(Split({}, "ab"), ElementsAre("ab"));
  EXPECT_THAT(Split({{.text = "\xff", .id = 4}}, "\xff\xff"),
              ElementsAre("4[\xff]", "4[\xff]"));
}

TEST(AddedTokensTest, FindsNormalizedTokensInTheRemainingText) {
  const std::vector<AddedToken> tokens = {
      {.text = "ab", .id = 1, .normalized = true}, {.text = "bc", .id = 2}};
  EXPECT_THAT(Split(tokens, "abc ab"), ElementsAre("a", "2[bc]", " ", "1[ab]"));
}

TEST(AddedTokensTest, StripsWhiteSpace) {
  const std::vector<AddedToken> tokens = {
      {.text = "<", .id = 1, .left_strip = true},
      {.text = ">", .id = 2, .right_strip = true}};
  EXPECT_THAT(Split(tokens, "a \u3000<  > \t<b"),
              ElementsAre("a", "1[ \u3000<]", "  ", "2[> \t]", "1[<]", "b"));
  EXPECT_THAT(Split(tokens, " <"), ElementsAre("1[ <]"));
  // A byte that is not UTF-8 is not white space.
  EXPECT_THAT(Split(tokens, "\xa0<"), ElementsAre("\xa0", "1[<]"));
}

}  // namespace
}  // namespace regard
