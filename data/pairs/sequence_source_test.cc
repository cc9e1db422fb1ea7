// Tests the data sources `copy` and `reverse`.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/built_in_data_sources.h"
#include "data/data.pb.h"
#include "data/data_source.h"
#include "data/pairs/sentence_source.h"
#include "data/parallel_corpus.h"
#include "data/sentence_pair.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns a source with five symbols. `options` are options of copy or reverse.
std::unique_ptr<SentenceSource> SourceOf(absl::string_view name,
                                         absl::string_view options) {
  Data config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat(name, " { symbols: 5 ", options, "}"), &config));
  return SentenceSourceOf(config, BuiltInDataSources());
}

SentenceData Load(absl::string_view name, absl::string_view options,
                  uint64_t seed) {
  return SourceOf(name, options)->Load({.path = "", .seed = seed}).value();
}

// Returns the pairs of the dev split.
std::vector<SentencePair> Make(absl::string_view name, uint64_t seed,
                               int count = 300) {
  const absl::string_view lengths = name == "copy"
                                        ? "min_length: 1 max_length: 4"
                                        : "max_length: 2 max_test_length: 4";
  return Load(name, absl::StrCat("dev: ", count, " ", lengths), seed).dev.pairs;
}

// Expects that each target token equals the source token that is aligned with
// it.
void ExpectLinksJoinEqualTokens(const SentencePair& pair) {
  ASSERT_EQ(pair.source.size(), pair.target.size());
  ASSERT_EQ(pair.alignment.size(), pair.target.size());
  EXPECT_TRUE(std::is_sorted(pair.alignment.begin(), pair.alignment.end()));
  for (const AlignmentLink& link : pair.alignment) {
    EXPECT_EQ(pair.target[link.target], pair.source[link.source]);
  }
}

TEST(SequenceSourceTest, CopiesInOrder) {
  for (const SentencePair& pair : Make("copy", 1)) {
    EXPECT_EQ(pair.source, pair.target);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, pair.alignment.back().target);
  }
}

TEST(SequenceSourceTest, ReversesWithAMirroredAlignment) {
  for (const SentencePair& pair : Make("reverse", 1)) {
    std::vector<std::string> mirrored(pair.source.rbegin(), pair.source.rend());
    EXPECT_EQ(pair.target, mirrored);
    ExpectLinksJoinEqualTokens(pair);
    EXPECT_EQ(pair.alignment.back().source, 0);
  }
}

TEST(SequenceSourceTest, UsesEveryLengthAndEverySymbol) {
  std::set<size_t> lengths;
  std::set<std::string> symbols;
  for (const SentencePair& pair : Make("copy", 2)) {
    lengths.insert(pair.source.size());
    symbols.insert(pair.source.begin(), pair.source.end());
  }
  EXPECT_EQ(lengths, (std::set<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(symbols, (std::set<std::string>{"0", "1", "2", "3", "4"}));
}

TEST(SequenceSourceTest, SplitsHaveTheirOwnSizesAndContents) {
  SentenceData data =
      Load("copy", "train: 20 dev: 20 test: 30 min_length: 3 max_length: 3", 3);
  const std::vector<SentencePair>& dev = data.dev.pairs;
  const std::vector<SentencePair>& test = data.tests[0].pairs;
  EXPECT_THAT(dev, SizeIs(20));
  EXPECT_THAT(test, SizeIs(30));
  for (const SentencePair& pair : dev) EXPECT_THAT(pair.source, SizeIs(3));
  EXPECT_THAT(data.tests[1].pairs, IsEmpty());
  const Vocabulary vocabulary = data.train.SourceVocabulary(1);
  const ParallelCorpus corpus =
      std::move(data.train).Encode(vocabulary, vocabulary);
  ASSERT_EQ(corpus.size(), 20);
  bool as_dev = true;
  bool as_test = true;
  bool dev_as_test = true;
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<std::string> source = vocabulary.Decode(corpus[i].source);
    EXPECT_THAT(source, SizeIs(3));
    as_dev = as_dev && source == dev[i].source;
    as_test = as_test && source == test[i].source;
    dev_as_test = dev_as_test && dev[i].source == test[i].source;
  }
  EXPECT_FALSE(as_dev || as_test || dev_as_test);
}

TEST(SequenceSourceTest, MorePairsKeepTheEarlierOnes) {
  const auto few = Make("reverse", 4);
  const auto many = Make("reverse", 4, 400);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].source, many[i].source);
  }
  EXPECT_NE(Make("reverse", 5)[0].source, many[0].source);
}

TEST(SequenceSourceTest, OnlyCorrectPairsHaveLinks) {
  const std::vector<std::string> forth = {"1", "2", "3"};
  const std::vector<std::string> back = {"3", "2", "1"};
  const auto links = [](const char* name, const auto& source,
                        const auto& target) {
    return SourceOf(name, "")->GoldLinks({.path = ""}, source, target);
  };
  EXPECT_THAT(links("copy", forth, forth),
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{1, 1},
                          AlignmentLink{2, 2}));
  EXPECT_THAT(links("reverse", forth, back),
              ElementsAre(AlignmentLink{0, 2}, AlignmentLink{1, 1},
                          AlignmentLink{2, 0}));
  EXPECT_THAT(links("copy", forth, back), IsEmpty());
  EXPECT_THAT(links("reverse", forth, forth), IsEmpty());
}

TEST(SequenceSourceTest, LongerSequencesHaveTheirOwnSplit) {
  const SentenceData data =
      Load("reverse", "test: 30 min_apart_length: 5 max_apart_length: 6", 1);
  std::set<size_t> lengths;
  for (const SentencePair& pair : data.tests[1].pairs) {
    lengths.insert(pair.source.size());
    ExpectLinksJoinEqualTokens(pair);
  }
  EXPECT_EQ(lengths, (std::set<size_t>{5, 6}));
  EXPECT_EQ(data.tests[1].suffix, "_apart");
}

TEST(SequenceSourceTest, MakesNoMoreThanMemoryHolds) {
  const auto problem_of = [](const std::string& text) {
    Data config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    ConfigProblems problems;
    BuiltInDataSources().ValidateChoice(config, problems);
    return problems.ok() ? "" : problems.problems()[0].path;
  };
  EXPECT_EQ(problem_of("reverse { train: 1000000 max_length: 33 }"), "");
  EXPECT_EQ(problem_of("reverse { train: 1000000 max_length: 34 }"),
            "reverse.train");
  EXPECT_EQ(problem_of("reverse { train: 1 test: 500000 max_test_length: 40 "
                       "max_apart_length: 40 }"),
            "reverse.train");
  EXPECT_EQ(problem_of("copy { train: 1 dev: 1000000 max_length: 40 }"),
            "copy.train");
  EXPECT_EQ(problem_of("placeholder { pairs: 6710 source_words: 10000 "
                       "target_words: 1 }"),
            "");
  EXPECT_EQ(problem_of("placeholder { pairs: 6711 source_words: 9999 "
                       "target_words: 2 }"),
            "placeholder.pairs");
}

}  // namespace
}  // namespace regard
