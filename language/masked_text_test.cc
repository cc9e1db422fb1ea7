#include "language/masked_text.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autodiff/arena.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/bert.pb.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> PiecesOf(const WordPiece& pieces) {
  std::vector<std::string> tokens;
  for (int32_t id = 0; id < pieces.size(); ++id) {
    tokens.push_back(pieces.Token(id));
  }
  return tokens;
}

WordPiece WordsOf(absl::string_view text, const MaskedWordsConfig& config) {
  return WordVocabulary(text, TokenOptions(config), config.min_frequency());
}

TEST(WordVocabularyTest, CountsWordsAsWhiteSpaceSeparatesThem) {
  MaskedWordsConfig config;
  const std::string text =
      "b The [MASK] the, b\n\nCaf\u00e9 b the,\n[MASK] <unk>";
  EXPECT_THAT(PiecesOf(WordsOf(text, config)),
              ElementsAre("[PAD]", "<unk>", "[CLS]", "[SEP]", "[MASK]", "b",
                          "the,", "the", "caf\u00e9"));
  config.set_min_frequency(2);
  config.set_lower_case(false);
  const WordPiece pieces = WordsOf(text, config);
  EXPECT_THAT(PiecesOf(pieces), ElementsAre("[PAD]", "<unk>", "[CLS]", "[SEP]",
                                            "[MASK]", "b", "the,"));
  const EncodedText ids = EncodeLines(pieces, text);
  EXPECT_THAT(ids.ids, ElementsAre(5, 1, 4, 6, 5, 1, 5, 6, 4, 1));
  EXPECT_THAT(ids.lines, ElementsAre(0, 5, 8, 10));
  EXPECT_THAT(ids.documents, ElementsAre(0, 1, 3));
  EXPECT_THAT(EncodeLines(pieces, "").ids, IsEmpty());
  EXPECT_THAT(EncodeLines(pieces, "\n\nb\nb\n \n\nb\n\n").documents,
              ElementsAre(0, 2, 3));
}

TEST(WordVocabularyTest, ATokenInOtherCaseIsNotAWord) {
  MaskedWordsConfig config;
  const WordPiece pieces = WordsOf("<UNK> [Mask] a <UNK>", config);
  EXPECT_THAT(PiecesOf(pieces), ElementsAre("[PAD]", "<unk>", "[CLS]", "[SEP]",
                                            "[MASK]", "[mask]", "a"));
  EXPECT_THAT(EncodeLines(pieces, "<UNK> a").ids, ElementsAre(1, 6));
}

TEST(WordVocabularyTest, WordsHaveNoPieces) {
  const WordPiece pieces = WordsOf("a ##b", MaskedWordsConfig());
  EXPECT_THAT(EncodeLines(pieces, "ab ##b").ids, ElementsAre(1, 6));
}

constexpr MaskedText::Masking kAllMasks = {
    .share = 0.25, .mask_share = 1, .random_share = 0, .seed = 7, .step = 3};

// A vocabulary of ten words, of which w0 is unknown, and a text of `count`
// words.
class MaskedTextTest : public ::testing::Test {
 protected:
  explicit MaskedTextTest(int count = 100) {
    std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                       "[MASK]"};
    for (int i = 0; i < 10; ++i) tokens.push_back(absl::StrCat("w", i));
    tokens.push_back("##s");
    pieces_ = std::make_unique<WordPiece>(
        WordPiece::Create(tokens, "", WordPieceOptions()).value());
    known_.assign(tokens.size(), true);
    for (int i = 0; i < 6; ++i) known_[i] = false;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&words_, "w", i % 10, i % 7 == 6 ? "\n" : " ");
    }
    config_.set_block(12);
    config_.set_share(0.25);
  }

  MaskedText Make() {
    ids_ = EncodeLines(*pieces_, words_);
    return MaskedText(*pieces_, config_, ids_, known_, /*seed=*/1);
  }
  static std::vector<int64_t> All(const MaskedText& text) {
    std::vector<int64_t> examples(static_cast<size_t>(text.size()));
    std::iota(examples.begin(), examples.end(), 0);
    return examples;
  }

  std::unique_ptr<WordPiece> pieces_;
  std::vector<bool> known_;
  std::string words_;
  MaskedWordsConfig config_;
  EncodedText ids_;
  Arena arena_;
};

TEST_F(MaskedTextTest, MasksTheConfiguredFractionOfKnownTokens) {
  const MaskedText text = Make();
  EXPECT_EQ(text.size(), 10);
  EXPECT_EQ(text.Length(0), 12);
  // One of the ten words is unknown, so round(9 / 4) words are predicted.
  EXPECT_EQ(text.NumPredicted(0), 2);
  const MaskedBatch batch = text.MakeBatch(All(text), kAllMasks, arena_);
  EXPECT_EQ(batch.targets.size(), 20);
  EXPECT_THAT(batch.input.lengths, Each(12));
  EXPECT_THAT(batch.input.types, IsEmpty());
  // Positions that are not masked must keep their words.
  std::set<int32_t> masked(batch.positions.begin(), batch.positions.end());
  EXPECT_EQ(masked.size(), 20);
  for (int32_t row = 0; row < 10; ++row) {
    EXPECT_EQ(batch.input.ids[row * 12], pieces_->classifier());
    EXPECT_EQ(batch.input.ids[row * 12 + 11], pieces_->separator());
    for (int32_t i = 1; i < 11; ++i) {
      const int32_t at = row * 12 + i;
      EXPECT_EQ(batch.input.ids[at],
                masked.count(at) > 0 ? pieces_->mask() : 4 + i)
          << at;
    }
  }
  for (size_t i = 0; i < batch.targets.size(); ++i) {
    EXPECT_EQ(batch.targets[i], 4 + batch.positions[i] % 12);
    EXPECT_NE(batch.targets[i], 5);
  }
}

TEST_F(MaskedTextTest, IsAFunctionOfSeedStepAndExample) {
  const MaskedText text = Make();
  const auto ids = [&](const MaskedText::Masking& masking,
                       std::vector<int64_t> examples) {
    const auto batch = text.MakeBatch(examples, masking, arena_);
    return std::vector<int32_t>(batch.input.ids.begin(), batch.input.ids.end());
  };
  const std::vector<int32_t> both = ids(kAllMasks, {4, 2});
  EXPECT_EQ(std::vector<int32_t>(both.begin() + 12, both.end()),
            ids(kAllMasks, {2}));
  EXPECT_NE(ids(kAllMasks, {2}), ids(kAllMasks, {3}));
  MaskedText::Masking other = kAllMasks;
  other.step = 4;
  EXPECT_NE(ids(kAllMasks, {2}), ids(other, {2}));
  other = kAllMasks;
  other.seed = 8;
  EXPECT_NE(ids(kAllMasks, {2}), ids(other, {2}));
}

TEST_F(MaskedTextTest, EightyTenTen) {
  const MaskedText text = Make();
  int masks = 0;
  int randoms = 0;
  int same = 0;
  std::map<int32_t, int> words;
  for (int64_t step = 0; step < 500; ++step) {
    const MaskedBatch batch = text.MakeBatch(All(text),
                                             {.share = 0.25,
                                              .mask_share = 0.8,
                                              .random_share = 0.1,
                                              .seed = 1,
                                              .step = step},
                                             arena_);
    for (size_t i = 0; i < batch.targets.size(); ++i) {
      const int32_t id = batch.input.ids[batch.positions[i]];
      masks += id == pieces_->mask();
      same += id == batch.targets[i];
      randoms += id != pieces_->mask() && id != batch.targets[i];
      if (id != pieces_->mask()) ++words[id];
    }
    arena_.Reset();
  }
  // There are 10,000 predicted tokens. A random word equals the original in one
  // of ten cases.
  EXPECT_NEAR(masks, 8000, 200);
  EXPECT_NEAR(same, 1100, 150);
  EXPECT_NEAR(randoms, 900, 150);
  EXPECT_EQ(words.size(), 10);  // w1 .. w9 and ##s
}

TEST_F(MaskedTextTest, WholeWordsAreMasked) {
  words_ = "w1s w2 w3s w4 w5s w6s w7 w8";
  config_.set_block(32);
  config_.set_vocabulary("vocab.txt");
  config_.set_whole_words(true);
  const MaskedText text = Make();
  EXPECT_EQ(text.NumPredicted(0), 3);
  for (int64_t step = 0; step < 50; ++step) {
    MaskedText::Masking masking = kAllMasks;
    masking.step = step;
    const MaskedBatch batch = text.MakeBatch({0}, masking, arena_);
    EXPECT_EQ(batch.targets.size(), 3);
    const auto ids = batch.input.ids;
    std::vector<bool> masked(ids.size());
    for (const int32_t at : batch.positions) masked[at] = true;
    // The words are at positions 1-2, 3, 4-5, 6, 7-8, 9-10, 11 and 12.
    for (const int begin : {1, 4, 7, 9}) {
      EXPECT_EQ(masked[begin], masked[begin + 1]) << begin;
    }
  }
}

// Blocks of six tokens may begin inside a word. The remaining tokens of such a
// word can be masked.
TEST_F(MaskedTextTest, TheRestOfACutWordIsAWord) {
  words_ = "w1 w2s w3s w4s w5s w6s w7s";
  config_.set_block(8);
  config_.set_vocabulary("vocab.txt");
  config_.set_whole_words(true);
  const MaskedText text = Make();
  std::set<int32_t> masked;
  for (int64_t step = 0; step < 100; ++step) {
    MaskedText::Masking masking = kAllMasks;
    masking.step = step;
    for (const int32_t at : text.MakeBatch({1}, masking, arena_).positions) {
      masked.insert(at);
    }
  }
  // The tokens are w1, w2, ##s, w3, ##s, w4 | ##s, w5, ##s and so on, where "|"
  // marks the beginning of example 1.
  EXPECT_TRUE(masked.contains(1));
}

TEST_F(MaskedTextTest, PairsAreSuccessiveOrUnrelated) {
  // Each document repeats one of nine words. Successive documents have
  // different words.
  words_.clear();
  for (int i = 0; i < 400; ++i) {
    const std::string word = absl::StrCat("w", 1 + i % 9);
    absl::StrAppend(&words_, word, " ", word, "\n", word, "\n", word, " ", word,
                    "\n \n");
  }
  known_.assign(known_.size(), false);
  config_.set_next_sentence(true);
  const MaskedText text = Make();
  EXPECT_EQ(ids_.documents.size(), 401);
  EXPECT_GT(text.size(), 400);
  const MaskedBatch batch = text.MakeBatch(All(text), kAllMasks, arena_);
  const auto time = static_cast<int64_t>(batch.input.ids.size()) / text.size();
  // A pair contains the five words of one document, or at least one word of
  // each of two documents.
  EXPECT_LE(time, 12);
  int apart = 0;
  int of_other_word = 0;
  for (int64_t row = 0; row < text.size(); ++row) {
    EXPECT_EQ(batch.input.lengths[row], text.Length(row));
    const auto ids = batch.input.ids.subspan(row * time, text.Length(row));
    const auto types = batch.input.types.subspan(row * time, text.Length(row));
    EXPECT_EQ(types[0], 0);
    EXPECT_EQ(types.back(), 1);
    EXPECT_EQ(ids.back(), pieces_->separator());
    const int32_t first = ids[1];
    const int32_t second = ids[ids.size() - 2];
    if (batch.apart[row] == 1) {
      ++apart;
      of_other_word += first == second ? 0 : 1;
    } else {
      EXPECT_EQ(first, second);
    }
  }
  EXPECT_NEAR(apart, static_cast<int>(text.size()) * 2 / 3, 60);
  // One in nine of the other documents has the word of the first segment.
  EXPECT_NEAR(of_other_word, apart * 8 / 9, 40);
}

TEST_F(MaskedTextTest, AnEmptyTextHasNoExamples) {
  words_ = "w0 w0\n";
  const MaskedText unknown = Make();
  EXPECT_EQ(unknown.size(), 1);
  EXPECT_EQ(unknown.NumPredicted(0), 0);
  EXPECT_THAT(unknown.MakeBatch({0}, kAllMasks, arena_).targets, IsEmpty());
  words_ = "";
  EXPECT_EQ(Make().size(), 0);
  words_ = "w1";
  EXPECT_EQ(Make().NumPredicted(0), 1);
}

TEST(MaskedWordsConfigTest, NamesWhatIsWrong) {
  MaskedWordsConfig config;
  config.set_share(0);
  config.set_random_share(0.5);
  config.set_block(7);
  config.set_whole_words(true);
  config.set_next_sentence_weight(-1);
  ConfigProblems problems;
  ValidateMaskedWords(config, problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  EXPECT_THAT(paths, ElementsAre("block", "share", "random_share"));
  EXPECT_THAT(
      problems.notes(),
      ElementsAre("whole_words: has no effect without a subword vocabulary: "
                  "each token is a word",
                  "next_sentence_weight: has no effect without next_sentence: "
                  "true"));
}

TEST(MaskedWordsConfigTest, TheWeightOfNextSentencesNeedsThem) {
  const auto fits = [](bool next_sentence, double weight) {
    MaskedWordsConfig config;
    config.set_next_sentence(next_sentence);
    config.set_next_sentence_weight(weight);
    ConfigProblems problems;
    ValidateMaskedWords(config, problems);
    return problems.ok() && problems.notes().empty();
  };
  EXPECT_TRUE(fits(true, 0.5));
  EXPECT_FALSE(fits(true, -1));
  EXPECT_FALSE(fits(false, 0.5));
  // The default value must be accepted, because a resolved config contains
  // defaults.
  EXPECT_TRUE(fits(false, 1));
}

}  // namespace
}  // namespace regard
