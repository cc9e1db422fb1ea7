#include "data/text/wordpiece_config.h"

#include <optional>
#include <string>
#include <vector>

#include "data/text/wordpiece.h"
#include "data/text/wordpiece.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(WordPieceConfigTest, TokensAreThoseOfTheTokenizer) {
  WordPieceOptions options = {.clean_text = false,
                              .split_chinese = false,
                              .lower_case = false,
                              .strip_accents = true,
                              .longest_word = 7,
                              .unknown = "u",
                              .classifier = "c",
                              .separator = "s",
                              .padding = "p",
                              .mask = "m"};
  const WordPieceOptions again = TokenOptions(ToTokenConfig(options));
  EXPECT_FALSE(again.clean_text);
  EXPECT_FALSE(again.split_chinese);
  EXPECT_FALSE(again.lower_case);
  EXPECT_EQ(again.strip_accents, true);
  EXPECT_EQ(again.longest_word, 7);
  EXPECT_EQ(again.unknown + again.classifier + again.separator + again.padding +
                again.mask,
            "ucspm");
  EXPECT_EQ(TokenOptions(ToTokenConfig({})).strip_accents, std::nullopt);
}

TEST(WordPieceConfigTest, NamesWhatIsWrong) {
  WordPieceConfig config;
  config.set_vocabulary("");
  config.set_longest_word(0);
  config.set_mask("");
  config.set_padding("a\nb");
  ConfigProblems problems;
  ValidateTokens(config, problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  EXPECT_THAT(paths,
              ElementsAre("longest_word", "vocabulary", "padding", "mask"));
}

TEST(WordPieceConfigTest, AWordIsCapped) {
  WordPieceConfig config;
  config.set_longest_word(1001);
  ConfigProblems problems;
  ValidateTokens(config, problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].message, "must be in [1, 1000], got 1001");
}

TEST(WordPieceConfigTest, MinFrequencyDoesNotAffectAGivenVocabulary) {
  WordPieceConfig config;
  config.set_min_frequency(2);
  ConfigProblems problems;
  ValidateTokens(config, problems);
  config.set_vocabulary("vocab.txt");
  config.set_min_frequency(1);
  ValidateTokens(config, problems);
  EXPECT_TRUE(problems.ok());
  EXPECT_TRUE(problems.notes().empty());
  config.set_min_frequency(2);
  ValidateTokens(config, problems);
  EXPECT_TRUE(problems.ok());
  ASSERT_EQ(problems.notes().size(), 1u);
  EXPECT_EQ(problems.notes()[0],
            "min_frequency: has no effect: a given vocabulary keeps all of its "
            "tokens");
}

}  // namespace
}  // namespace regard
