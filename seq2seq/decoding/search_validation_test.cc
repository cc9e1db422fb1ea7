// Tests the validation of search configs.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns "path: message" of each problem.
std::vector<std::string> ProblemsOf(const std::string& text) {
  SearchConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  ConfigProblems problems;
  ValidateSearch(config, problems);
  std::vector<std::string> found;
  for (const auto& problem : problems.problems()) {
    found.push_back(problem.path + ": " + problem.message);
  }
  for (const std::string& note : problems.notes()) {
    found.push_back("note: " + note);
  }
  return found;
}

// Returns the only problem; "" if there is none.
std::string ProblemOf(const std::string& text) {
  const std::vector<std::string> found = ProblemsOf(text);
  EXPECT_LE(found.size(), 1) << text;
  return found.empty() ? "" : found[0];
}

TEST(SearchValidationTest, AcceptsTheDefaultAndTheEdges) {
  EXPECT_EQ(ProblemOf(""), "");
  EXPECT_EQ(ProblemOf("beam: 64 n_best: 64 length_penalty: 0"), "");
  EXPECT_EQ(ProblemOf("n_best: 64 sampling { top_p: 0.1 top_k: 5 }"), "");
  EXPECT_EQ(ProblemOf("sampling { min_p: 0 }"), "");
  EXPECT_EQ(ProblemOf("repetition_penalty: 1.2 no_repeat_ngram: 3 "
                      "sampling { min_p: 1 }"),
            "");
}

TEST(SearchValidationTest, NamesTheFieldOutOfRange) {
  EXPECT_THAT(ProblemOf("beam: 0"), HasSubstr("beam: "));
  EXPECT_THAT(ProblemOf("beam: 65"), HasSubstr("beam: "));
  EXPECT_THAT(ProblemOf("length_penalty: nan"), HasSubstr("length_penalty: "));
  EXPECT_THAT(ProblemOf("min_length: -1"), HasSubstr("min_length: "));
  EXPECT_THAT(ProblemOf("max_length: -1"), HasSubstr("max_length: "));
  EXPECT_THAT(
      ProblemOf("max_length_ratio: 0 max_length: 5 min_length: 5"),
      HasSubstr(
          "max_length: must be greater than `min_length` (5), because each"));
  EXPECT_THAT(ProblemOf("max_length_ratio: 0 max_length: 0"),
              HasSubstr("max_length: must be greater than `min_length` (0)"));
  EXPECT_THAT(ProblemsOf("max_length_ratio: 0 min_length: 2147483647"),
              ElementsAre(HasSubstr("min_length: "),
                          HasSubstr("max_length: must be greater than")));
  EXPECT_THAT(ProblemOf("sampling { temperature: 0 }"),
              HasSubstr("sampling.temperature: "));
  EXPECT_THAT(ProblemOf("sampling { top_p: 0 }"),
              HasSubstr("sampling.top_p: "));
  EXPECT_THAT(ProblemOf("sampling { min_p: 1.1 }"),
              HasSubstr("sampling.min_p: "));
  EXPECT_THAT(ProblemOf("repetition_penalty: 0"),
              HasSubstr("repetition_penalty: "));
  EXPECT_THAT(ProblemOf("no_repeat_ngram: -1"), HasSubstr("no_repeat_ngram: "));
}

TEST(SearchValidationTest, NBestIsAtMostTheBeam) {
  EXPECT_THAT(ProblemOf("beam: 3 n_best: 4"),
              HasSubstr("n_best: must be at most `beam` (3); got 4"));
  EXPECT_THAT(ProblemOf("beam: 3 sampling {}"),
              HasSubstr("note: beam: has no effect with `sampling`"));
}

}  // namespace
}  // namespace regard
