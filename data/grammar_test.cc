#include "data/grammar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(GrammarTest, EntropyAndLengthMatchHandComputedValues) {
  const Grammar grammar("S: 1 a | 3 bb A\nA: 2 c | 2 d");
  const double ln2 = std::log(2.0);
  EXPECT_NEAR(grammar.SentenceEntropy(),
              0.25 * 2 * ln2 + 0.75 * (std::log(4.0 / 3) + ln2), 1e-12);
  EXPECT_NEAR(grammar.MeanLineCharacters(), 0.25 * 2 + 0.75 * 5, 1e-12);
}

TEST(GrammarTest, RecursionIsSummed) {
  // The number of words has a geometric distribution with mean 2 and entropy
  // 2 * log(2).
  const Grammar grammar("S: 1 x S | 1 x");
  EXPECT_NEAR(grammar.SentenceEntropy(), 2 * std::log(2.0), 1e-9);
  EXPECT_NEAR(grammar.MeanLineCharacters(), 4, 1e-9);
}

TEST(GrammarDeathTest, RefusesSentencesWithoutEnd) {
  EXPECT_DEATH(Grammar("S: 2 S S | 1 x"), "no finite expected length");
}

TEST(GrammarTest, SentencesAreAFunctionOfSeedAndPurpose) {
  const Grammar grammar(EnglishRules());
  const std::string text = grammar.GenerateSentences(20, 1, "train");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text, grammar.GenerateSentences(20, 1, "train"));
  EXPECT_NE(text, grammar.GenerateSentences(20, 2, "train"));
  EXPECT_NE(text, grammar.GenerateSentences(20, 1, "dev"));
}

// Computes the probability that the rules of a grammar derive a list of words.
// If `probabilities` is false, counts the derivations instead.
class Derivations {
 public:
  Derivations(absl::string_view text, bool probabilities) {
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> sides =
          absl::StrSplit(line, ": ");
      std::vector<Rule>& rules = rules_[sides.first];
      double sum = 0;
      for (const absl::string_view choice :
           absl::StrSplit(sides.second, " | ")) {
        const std::vector<std::string> parts = absl::StrSplit(choice, ' ');
        rules.push_back(
            {std::stod(parts[0]), {parts.begin() + 1, parts.end()}});
        sum += rules.back().weight;
      }
      for (Rule& rule : rules) {
        rule.weight = probabilities ? rule.weight / sum : 1;
      }
    }
  }

  double Of(const std::vector<std::string>& words) {
    words_ = words;
    known_.clear();
    return OfSymbol("SENTENCE", 0, words.size());
  }

 private:
  struct Rule {
    double weight;
    std::vector<std::string> parts;
  };

  // Returns the probability that `symbol` derives words [begin, end).
  double OfSymbol(const std::string& symbol, size_t begin, size_t end) {
    const auto key = std::make_tuple(symbol, begin, end);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    double sum = 0;
    for (const Rule& rule : rules_.at(symbol)) {
      sum += rule.weight * OfParts(rule.parts, 0, begin, end);
    }
    known_[key] = sum;
    return sum;
  }

  double OfParts(const std::vector<std::string>& parts, size_t part,
                 size_t begin, size_t end) {
    if (part == parts.size()) return begin == end ? 1 : 0;
    if (begin == end) return 0;
    if (rules_.count(parts[part]) == 0) {
      return words_[begin] == parts[part]
                 ? OfParts(parts, part + 1, begin + 1, end)
                 : 0;
    }
    double sum = 0;
    for (size_t middle = begin + 1; middle <= end; ++middle) {
      const double rest = OfParts(parts, part + 1, middle, end);
      if (rest > 0) sum += rest * OfSymbol(parts[part], begin, middle);
    }
    return sum;
  }

  std::map<std::string, std::vector<Rule>> rules_;
  std::vector<std::string> words_;
  std::map<std::tuple<std::string, size_t, size_t>, double> known_;
};

TEST(EnglishRulesTest, EntropyIsTheMeanSurpriseOfSentencesWithOneDerivation) {
  const Grammar grammar(EnglishRules());
  Derivations counts(EnglishRules(), /*probabilities=*/false);
  Derivations probabilities(EnglishRules(), /*probabilities=*/true);
  const std::string text = grammar.GenerateSentences(1000, 3, "test");
  double sum = 0;
  double squares = 0;
  double characters = 0;
  std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_EQ(counts.Of(words), 1) << line;
    const double surprise = -std::log(probabilities.Of(words));
    sum += surprise;
    squares += surprise * surprise;
    characters += static_cast<double>(line.size()) + 1;
  }
  const auto count = static_cast<double>(lines.size());
  const double mean = sum / count;
  const double error = std::sqrt((squares / count - mean * mean) / count);
  EXPECT_NEAR(mean, grammar.SentenceEntropy(), 4 * error);
  // The tolerance is four relative standard errors of the surprisal. The
  // relative standard error of the lengths is about the same.
  EXPECT_NEAR(characters / count / grammar.MeanLineCharacters(), 1,
              4 * error / mean);
}

}  // namespace
}  // namespace regard
