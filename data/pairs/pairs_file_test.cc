// Tests pairs from a single file, data.path.

#include <any>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/built_in_data_sources.h"
#include "data/data.pb.h"
#include "data/data_source.h"
#include "data/pairs/pairs.pb.h"
#include "data/pairs/sentence_source.h"
#include "data/parallel_corpus.h"
#include "data/text/vocabulary.h"
#include "files/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

PairsConfig FirstPairs(int64_t count) {
  PairsConfig options;
  options.set_max_pairs(count);
  return options;
}

absl::StatusOr<SentenceData> Load(const std::string& path,
                                  const PairsConfig& options = {}) {
  Data data;
  *data.mutable_pairs() = options;
  absl::StatusOr<std::any> loaded =
      BuiltInDataSources().Create(data)->LoadAny({.path = path});
  if (!loaded.ok()) return loaded.status();
  return std::any_cast<SentenceData>(*std::move(loaded));
}

// Returns the training pairs of a file as words, "source | target".
absl::StatusOr<std::vector<std::string>> Read(const std::string& text,
                                              const PairsConfig& options = {}) {
  const std::string path = ::testing::TempDir() + "/pairs.txt";
  std::ofstream(path, std::ios::binary) << text;
  absl::StatusOr<SentenceData> data = Load(path, options);
  if (!data.ok()) return data.status();
  const Vocabulary vocabulary = data->train.SharedVocabulary(1);
  const ParallelCorpus corpus =
      std::move(data->train).Encode(vocabulary, vocabulary);
  std::vector<std::string> pairs;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    pairs.push_back(absl::StrCat(
        absl::StrJoin(vocabulary.Decode(corpus[i].source), " "), " | ",
        absl::StrJoin(vocabulary.Decode(corpus[i].target), " ")));
  }
  return pairs;
}

TEST(PairsFileTest, ReadsPairsInOrder) {
  const auto pairs = Read("One two.\tUn deux.\nThree!\tTrois !\n");
  ASSERT_THAT(pairs, IsOk());
  EXPECT_THAT(*pairs,
              ElementsAre("one two . | un deux .", "three ! | trois !"));
}

TEST(PairsFileTest, TakesEitherColumnAsTheSource) {
  PairsConfig options;
  options.set_source_column(1);
  options.set_target_column(0);
  const auto pairs = Read("un\tone\tCC-BY\n", options);
  ASSERT_THAT(pairs, IsOk());
  EXPECT_THAT(*pairs, ElementsAre("one | un"));
}

TEST(PairsFileTest, IsIndifferentToHowLinesEnd) {
  const auto pairs = Read(
      "\xef\xbb\xbf"
      "a\tb\r\n\r\n\nc\td");
  ASSERT_THAT(pairs, IsOk());
  EXPECT_THAT(*pairs, ElementsAre("a | b", "c | d"));
}

TEST(PairsFileTest, StopsAfterMaxPairs) {
  const std::string text = "a\tb\nc\td\nno tab here\n";
  EXPECT_THAT(*Read(text, FirstPairs(1)), SizeIs(1));
  EXPECT_THAT(*Read(text, FirstPairs(2)), SizeIs(2));
  EXPECT_FALSE(Read(text, FirstPairs(3)).ok());
}

struct Malformed {
  std::string text;
  std::string message;
};

class MalformedPairsFileTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedPairsFileTest, IsALocatedError) {
  EXPECT_THAT(Read(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, MalformedPairsFileTest,
    ::testing::Values(
        Malformed{"", "pairs.txt:1:1: error: the file is empty"},
        Malformed{"\n\n", "pairs.txt:1:1: error: the file has no sentence"},
        Malformed{
            "a\tb\nabc\n",
            "pairs.txt:2:4: error: expected the target sentence in column 2"},
        Malformed{"a\tb\n\tc\n", "pairs.txt:2:1: error: the source sentence"},
        Malformed{"abc\t \n", "pairs.txt:1:5: error: the target sentence"},
        Malformed{"a\tb\nc\tx\xffy\n",
                  "pairs.txt:2:4: error: the text must be"},
        Malformed{"\xef\xbb\xbf\xff\tb\n", "pairs.txt:1:4: error: the text"},
        Malformed{std::string("a\0\tb\n", 5),
                  "pairs.txt:1:2: error: the text must not contain a NUL"},
        Malformed{"a\tb\n" + std::string(70000, 'x'),
                  "pairs.txt:2:65537: error: the line is longer than 64 KiB"}));

TEST(PairsFileTest, AcceptsTheLongestLine) {
  const std::string longest = "a\t" + std::string(65534, 'b');
  EXPECT_THAT(Read(longest), IsOk());
  EXPECT_THAT(Read(longest + "\n"), IsOk());
  EXPECT_FALSE(Read(longest + "b").ok());
  EXPECT_FALSE(Read(longest + "b\n").ok());
}

TEST(PairsFileTest, MissingFileSaysWhereCorporaComeFrom) {
  EXPECT_THAT(
      Load("/nowhere/fra.txt"),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("/nowhere/fra.txt: cannot open: No such file"),
                     HasSubstr("www.manythings.org/anki"), HasSubstr("fra-eng"),
                     HasSubstr("--set data.path="))));
  EXPECT_THAT(Load(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("--set data.path=")));
}

TEST(PairsFileTest, DirectoryIsAnError) {
  EXPECT_THAT(Load(::testing::TempDir()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a directory")));
}

TEST(PairsFileTest, DigestCoversTheWholeFile) {
  const std::string path = ::testing::TempDir() + "/corpus.txt";
  const std::string text = "A.\tB.\nC\tD\n" + std::string(200000, 'x');
  std::ofstream(path) << text;
  const auto data = Load(path, FirstPairs(1));
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->train.size(), 1);
  EXPECT_EQ(data->digests.at("data.path"), Sha256Hex(text));
}

// The file is larger than the limit, but only its first pairs are read, so it
// must not be an error. It is sparse, and takes almost no space on the disk.
TEST(PairsFileTest, MaxPairsAllowsFilesOfAnySize) {
  const std::string path = ::testing::TempDir() + "/large.txt";
  std::ofstream(path) << "A.\tB.\nC\tD\n";
  std::filesystem::resize_file(path, uintmax_t{300} << 20);
  EXPECT_THAT(Load(path, FirstPairs(2)), IsOk());
  std::filesystem::remove(path);
}

TEST(PairsFileTest, TheLastPairsAreDev) {
  const std::string path = ::testing::TempDir() + "/dev.txt";
  std::ofstream(path) << "a\tb\nc\td\ne\tf\n";
  PairsConfig options;
  options.set_dev_pairs(2);
  const auto data = Load(path, options);
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->train.size(), 1);
  ASSERT_THAT(data->dev.pairs, SizeIs(2));
  EXPECT_THAT(data->dev.pairs[0].source, ElementsAre("c"));
  EXPECT_THAT(data->dev.pairs[1].target, ElementsAre("f"));
  options.set_dev_pairs(3);
  EXPECT_THAT(Load(path, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("dev.txt: error: 3 pairs leave nothing to "
                                 "train on when 3 are held out for dev")));
}

}  // namespace
}  // namespace regard
