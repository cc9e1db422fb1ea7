#include "seq2seq/subwords/sentencepiece_model.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/subwords/subword_trainer.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Spaced(absl::string_view word) {
  return absl::StrCat(kSpaceSymbol, word);
}

// A model without a map of characters.
class Handmade {
 public:
  explicit Handmade(sentencepiece::TrainerSpec::ModelType type) {
    proto_.mutable_trainer_spec()->set_model_type(type);
  }

  Handmade& Add(const std::string& piece, float score,
                sentencepiece::ModelProto::SentencePiece::Type type =
                    sentencepiece::ModelProto::SentencePiece::NORMAL) {
    auto* added = proto_.add_pieces();
    added->set_piece(piece);
    added->set_score(score);
    added->set_type(type);
    return *this;
  }

  sentencepiece::ModelProto& proto() { return proto_; }
  absl::StatusOr<SentencepieceModel> Parse() const {
    return SentencepieceModel::Parse(proto_.SerializeAsString(), "m.model");
  }

 private:
  sentencepiece::ModelProto proto_;
};

TEST(SentencepieceModelTest, MergesByScoreFromTheLeft) {
  Handmade bpe(sentencepiece::TrainerSpec::BPE);
  bpe.Add("ab", 0).Add("bc", -1).Add("abc", -2).Add("a", -3).Add("b", -4);
  bpe.Add("c", -5).Add(std::string(kSpaceSymbol), -6).Add("aa", -7);
  const auto model = bpe.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("abc"),
              ElementsAre(std::string(kSpaceSymbol), "abc"));
  EXPECT_THAT(model->Tokenize("bcab"),
              ElementsAre(std::string(kSpaceSymbol), "bc", "ab"));
  // Of equal merges the leftmost.
  EXPECT_THAT(model->Tokenize("aaa"),
              ElementsAre(std::string(kSpaceSymbol), "aa", "a"));
}

TEST(SentencepieceModelTest, FindsTheLikeliestPieces) {
  Handmade unigram(sentencepiece::TrainerSpec::UNIGRAM);
  unigram.Add("a", -2).Add("b", -2).Add("ab", -3).Add("abb", -7);
  unigram.Add(Spaced("a"), -1).Add(std::string(kSpaceSymbol), -2);
  const auto model = unigram.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("aab"), ElementsAre(Spaced("a"), "ab"));
  EXPECT_THAT(model->Tokenize("abb"), ElementsAre(Spaced("a"), "b", "b"));
}

TEST(SentencepieceModelTest, UnknownCharactersInARowAreOneToken) {
  Handmade unigram(sentencepiece::TrainerSpec::UNIGRAM);
  unigram.Add("a", -2).Add(std::string(kSpaceSymbol), -2);
  const auto model = unigram.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("axya"),
              ElementsAre(std::string(kSpaceSymbol), "a", "xy", "a"));
}

TEST(SentencepieceModelTest, KeepsUserDefinedPiecesWhole) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  for (const auto type :
       {sentencepiece::TrainerSpec::BPE, sentencepiece::TrainerSpec::UNIGRAM}) {
    Handmade made(type);
    made.Add("a", -1).Add("b", -2).Add("aab", -5);
    made.Add(std::string(kSpaceSymbol), -2);
    made.Add("ab", 0, Proto::USER_DEFINED);
    const auto model = made.Parse();
    ASSERT_THAT(model, IsOk());
    EXPECT_THAT(model->Tokenize("aab"),
                ElementsAre(std::string(kSpaceSymbol), "a", "ab"));
  }
}

TEST(SentencepieceModelTest, TrimsAndJoinsSpaces) {
  Handmade characters(sentencepiece::TrainerSpec::CHAR);
  characters.Add("a", -1).Add("b", -2).Add(std::string(kSpaceSymbol), -3);
  const auto model = characters.Parse();
  ASSERT_THAT(model, IsOk());
  const std::string space(kSpaceSymbol);
  EXPECT_THAT(model->Tokenize("  a   b "), ElementsAre(space, "a", space, "b"));
  EXPECT_THAT(model->Tokenize(""), IsEmpty());
  EXPECT_THAT(model->Tokenize("   "), IsEmpty());
  EXPECT_EQ(model->Detokenize({space, "a", space, "b"}), "a b");
  EXPECT_EQ(model->Detokenize({}), "");
}

TEST(SentencepieceModelTest, ItsVocabularyKeepsTheOrderOfThePieces) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  Handmade bpe(sentencepiece::TrainerSpec::BPE);
  bpe.Add("<unk>", 0, Proto::UNKNOWN).Add("<s>", 0, Proto::CONTROL);
  bpe.Add("b", 0).Add("a", -1);
  const auto model = bpe.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->MakeVocabulary().ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\nb\na\n");
}

TEST(SentencepieceModelTest, RefusesWhatItCannotRead) {
  EXPECT_THAT(SentencepieceModel::Parse("hello", "m.model"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("m.model: error: not a sentencepiece")));
  EXPECT_THAT(SentencepieceModel::Parse("", "m.model"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
  Handmade words(sentencepiece::TrainerSpec::WORD);
  words.Add("a", 0);
  EXPECT_THAT(words.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("whole words")));
  Handmade bytes(sentencepiece::TrainerSpec::BPE);
  bytes.Add("a", 0).proto().mutable_trainer_spec()->set_byte_fallback(true);
  EXPECT_THAT(bytes.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("byte_fallback")));
  Handmade twice(sentencepiece::TrainerSpec::BPE);
  twice.Add("a", 0).Add("a", 0);
  EXPECT_THAT(twice.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("'a' is there twice")));
  Handmade damaged(sentencepiece::TrainerSpec::BPE);
  damaged.Add("a", 0)
      .proto()
      .mutable_normalizer_spec()
      ->set_precompiled_charsmap("\xff\xff\xff\xff junk");
  EXPECT_THAT(damaged.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("map of characters")));
}

// Sentences with composed and decomposed accents, wide forms, controls and
// spaces of all kinds.
std::vector<std::string> Sentences() {
  const std::vector<std::string> words = {"the",
                                          "boat",
                                          "caf\u00e9",
                                          "cafe\u0301",
                                          "\uff21\uff22\uff23",
                                          "\u2026",
                                          "\ufb01sh",
                                          "\u6771\u4eac",
                                          "\u3042\u3099",
                                          "don't",
                                          "3,5",
                                          "\u00bd",
                                          "e\u00a0f",
                                          "t\tu",
                                          "\u200bz",
                                          "\u3000q",
                                          "x\u00ady",
                                          "\u03a3\u03af",
                                          "MOSCOW",
                                          "\u212b",
                                          "\U0001f600",
                                          "ab\u0301c"};
  std::vector<std::string> sentences;
  for (size_t i = 0; i < 400; ++i) {
    std::vector<std::string> some;
    for (size_t j = 0; j < 3 + i % 7; ++j) {
      some.push_back(words[(i * i + 7 * j * j + i * j) % words.size()]);
    }
    sentences.push_back(absl::StrJoin(some, i % 5 == 0 ? "  " : " "));
  }
  return sentences;
}

// Segments by sentencepiece's own program.
std::vector<std::string> ProgramSegments(
    const std::string& model, const std::vector<std::string>& sentences) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/m.model", std::ios::binary) << model;
  std::ofstream(folder + "/in", std::ios::binary)
      << absl::StrJoin(sentences, "\n") << "\n";
  const std::string command =
      absl::StrCat("spm_encode --model=", folder, "/m.model < ", folder,
                   "/in > ", folder, "/out");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(folder + "/out");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class TrainedModelTest : public ::testing::TestWithParam<SubwordOptions> {};

TEST_P(TrainedModelTest, SegmentsAsThePrograms) {
  absl::StatusOr<SubwordTrainer> trainer = SubwordTrainer::Create(GetParam());
  ASSERT_THAT(trainer, IsOk());
  const std::vector<std::string> sentences = Sentences();
  for (size_t i = 0; i < sentences.size(); i += 2) trainer->Add(sentences[i]);
  const absl::StatusOr<std::string> bytes = trainer->Train();
  ASSERT_THAT(bytes, IsOk());
  const auto model = SentencepieceModel::Parse(*bytes, "trained");
  ASSERT_THAT(model, IsOk());
  EXPECT_LE(model->MakeVocabulary().size(), GetParam().vocabulary_size);
  const std::vector<std::string> wanted = ProgramSegments(*bytes, sentences);
  ASSERT_EQ(wanted.size(), sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(absl::StrJoin(model->Tokenize(sentences[i]), " "), wanted[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TrainedModelTest,
    ::testing::Values(
        SubwordOptions{.model_type = "bpe", .vocabulary_size = 90},
        SubwordOptions{.model_type = "bpe",
                       .vocabulary_size = 60,
                       .character_coverage = 0.98},
        SubwordOptions{.model_type = "bpe",
                       .vocabulary_size = 90,
                       .normalization = "identity"},
        SubwordOptions{.model_type = "unigram", .vocabulary_size = 66},
        SubwordOptions{.model_type = "char", .vocabulary_size = 200}));

TEST(SubwordTrainerTest, SaysWhyItFailed) {
  absl::StatusOr<SubwordTrainer> trainer =
      SubwordTrainer::Create({.vocabulary_size = 10000});
  ASSERT_THAT(trainer, IsOk());
  trainer->Add("too short a text");
  EXPECT_THAT(trainer->Train(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Vocabulary size too high")));
}

}  // namespace
}  // namespace regard
