#include "data/labelled_tokens_source.h"

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/data.pb.h"
#include "data/data_source.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {

extern "C" void RegisterLabelledTokensSourceInDataSourceRegistry(
    DataSourceRegistry& sources);

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DataSourceRegistry Sources() {
  DataSourceRegistry sources;
  RegisterLabelledTokensSourceInDataSourceRegistry(sources);
  return sources;
}

Data Parse(const std::string& text) {
  Data data;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &data))
      << text;
  return data;
}

LabelledTokenSplits Load(const std::string& text, uint64_t seed = 1) {
  const auto loaded =
      Sources().Create(Parse(text))->LoadAny({.path = "", .seed = seed});
  return std::any_cast<LabelledTokenSplits>(loaded.value());
}

std::vector<std::string> ProblemsOf(const std::string& text) {
  ConfigProblems problems;
  Sources().ValidateChoice(Parse(text), problems);
  std::vector<std::string> all;
  for (const auto& problem : problems.problems()) {
    all.push_back(problem.path + ": " + problem.message);
  }
  return all;
}

TEST(AssociativeRecallTest, EachKeyComesOnceMoreWithItsValueAsTheLabel) {
  const LabelledTokenSplits data = Load(
      "associative_recall { train: 200 dev: 3 test: 4 vocabulary: 40 length: "
      "33 pairs: 6 }");
  EXPECT_EQ(data.vocabulary, 40);
  EXPECT_THAT(data.train, SizeIs(200));
  EXPECT_THAT(data.dev, SizeIs(3));
  EXPECT_THAT(data.test, SizeIs(4));
  for (const LabelledSequence& sequence : data.train) {
    ASSERT_THAT(sequence.tokens, SizeIs(33));
    ASSERT_THAT(sequence.labels, SizeIs(33));
    std::map<int32_t, int32_t> values;
    for (size_t i = 0; i < 12; i += 2) {
      values[sequence.tokens[i]] = sequence.tokens[i + 1];
      EXPECT_GE(sequence.tokens[i], 1);
      EXPECT_LT(sequence.tokens[i], 20);
      EXPECT_GE(sequence.tokens[i + 1], 20);
      EXPECT_EQ(sequence.labels[i], kNoLabel);
    }
    EXPECT_THAT(values, SizeIs(6));
    std::set<int32_t> asked;
    for (size_t i = 0; i < 33; ++i) {
      EXPECT_LT(sequence.tokens[i], 40);
      if (sequence.labels[i] == kNoLabel) continue;
      EXPECT_EQ(i % 2, 0u);
      EXPECT_EQ(sequence.labels[i], values.at(sequence.tokens[i]));
      asked.insert(sequence.tokens[i]);
    }
    EXPECT_THAT(asked, SizeIs(6));
  }
}

// Returns the fraction of keys that occur again at the first possible position.
double FirstPlaces(const char* exponent) {
  const LabelledTokenSplits data =
      Load(std::string("associative_recall { train: 2000 vocabulary: 20 pairs: "
                       "1 length: 12 exponent: ") +
           exponent + " }");
  return static_cast<double>(std::count_if(
             data.train.begin(), data.train.end(),
             [](const auto& row) { return row.labels[2] != kNoLabel; })) /
         2000;
}

TEST(AssociativeRecallTest, TheExponentDeterminesHowSoonKeysOccur) {
  // There are five possible positions with equal probabilities.
  EXPECT_NEAR(FirstPlaces("1"), 0.2, 0.03);
  // The probability of the first position is 1 / (1 + 1/2 + .. + 1/5).
  EXPECT_NEAR(FirstPlaces("0.0001"), 0.438, 0.03);
}

TEST(AssociativeRecallTest, IsAFunctionOfTheSeedAndTheSplit) {
  constexpr char kConfig[] = "associative_recall { train: 2 dev: 2 test: 0 }";
  const LabelledTokenSplits data = Load(kConfig);
  EXPECT_EQ(data.train[1].tokens, Load(kConfig).train[1].tokens);
  EXPECT_NE(data.train[1].tokens, Load(kConfig, 2).train[1].tokens);
  EXPECT_NE(data.train[1].tokens, data.dev[1].tokens);
  EXPECT_THAT(data.test, IsEmpty());
  // With fewer sequences, the first sequences must stay the same.
  EXPECT_EQ(data.train[1].tokens,
            Load("associative_recall { train: 3 }").train[1].tokens);
}

TEST(AssociativeRecallTest, SaysWhatIsWrong) {
  EXPECT_THAT(ProblemsOf("associative_recall { length: 15 }"),
              ElementsAre(HasSubstr("length: must be in [16, 65536]")));
  EXPECT_THAT(
      ProblemsOf("associative_recall { vocabulary: 8 pairs: 4 length: 40 }"),
      ElementsAre(HasSubstr("pairs: must be in [1, 3]")));
  EXPECT_THAT(ProblemsOf("associative_recall { length: 1000 }"),
              ElementsAre(HasSubstr("train: makes up to")));
}

TEST(ParityTest, LabelsSayWhetherTheNumberOfOnesIsOdd) {
  const LabelledTokenSplits data = Load(
      "parity { train: 100 dev: 30 test: 30 min_length: 2 max_length: 5 "
      "min_test_length: 7 max_test_length: 9 }");
  EXPECT_EQ(data.vocabulary, 3);
  std::set<size_t> lengths;
  for (const LabelledSequence& sequence : data.train) {
    lengths.insert(sequence.tokens.size());
    EXPECT_EQ(sequence.tokens[0], 2);
    EXPECT_EQ(sequence.labels[0], kNoLabel);
    int32_t odd = 0;
    for (size_t i = 1; i < sequence.tokens.size(); ++i) {
      odd = (odd + sequence.tokens[i]) % 2;
      EXPECT_EQ(sequence.labels[i], odd);
    }
  }
  EXPECT_THAT(lengths, ElementsAre(3, 4, 5, 6));
  lengths.clear();
  for (const LabelledSequence& sequence : data.test) {
    lengths.insert(sequence.tokens.size());
    EXPECT_EQ(
        std::count(sequence.labels.begin(), sequence.labels.end(), kNoLabel),
        static_cast<int64_t>(sequence.labels.size()) - 1);
    EXPECT_EQ(
        sequence.labels.back(),
        std::count(sequence.tokens.begin(), sequence.tokens.end(), 1) % 2);
  }
  EXPECT_THAT(lengths, ElementsAre(8, 9, 10));
  for (const LabelledSequence& sequence :
       Load("parity { train: 9 every_position: false }").train) {
    EXPECT_EQ(sequence.labels[1], kNoLabel);
    EXPECT_NE(sequence.labels.back(), kNoLabel);
  }
}

TEST(ParityTest, SaysWhatIsWrong) {
  EXPECT_THAT(ProblemsOf("parity { min_length: 41 }"),
              ElementsAre(HasSubstr("max_length: must be in [41, 10000]")));
  EXPECT_THAT(
      ProblemsOf("parity { max_test_length: 39 }"),
      ElementsAre(HasSubstr("max_test_length: must be in [40, 10000]")));
}

}  // namespace
}  // namespace regard
