// Compares segmentations with sentencepiece's own programs.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/random.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/subword_trainer.h"
#include "data/text/subwords.pb.h"
#include "data/text/testing/handmade_sentencepiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::HandmadeSentencepiece;
using ::regard::testing::IsOk;

// Returns sentences with composed and decomposed accents, wide forms, control
// characters and many kinds of spaces.
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

// Segments with sentencepiece's own program.
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

SubwordsConfig Training(SubwordsConfig::Kind kind, int vocabulary_size,
                        double character_coverage = 1,
                        const char* normalization = "nmt_nfkc") {
  SubwordsConfig options;
  options.set_kind(kind);
  options.set_vocabulary_size(vocabulary_size);
  options.set_character_coverage(character_coverage);
  options.set_normalization(normalization);
  return options;
}

// A user-defined piece takes precedence over other pieces, even with a low
// score, and the character map does not change it. In this text, "\uff21" is a
// user-defined piece, and "\uff22" is not.
TEST(SentencepieceParityTest, SegmentsUserDefinedPiecesLikeThePrograms) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  const absl::StatusOr<std::string> trained =
      TrainSubwords(Training(SubwordsConfig::BPE, 90),
                    absl::StrJoin(Sentences(), "\n") + "\n");
  ASSERT_THAT(trained, IsOk());
  sentencepiece::ModelProto nfkc;
  ASSERT_TRUE(nfkc.ParseFromString(*trained));
  const std::vector<std::string> sentences = {"ab",
                                              "aab abc",
                                              "\uff21\uff22",
                                              "b\uff21\uff21a",
                                              "  \u2026  \u2026",
                                              "cabab\uff21\u2026",
                                              "x\u2026ab",
                                              "\uff22\u2026b"};
  for (const auto type :
       {sentencepiece::TrainerSpec::BPE, sentencepiece::TrainerSpec::UNIGRAM,
        sentencepiece::TrainerSpec::CHAR}) {
    for (const float best : {-1.0F, 0.5F}) {
      HandmadeSentencepiece made(type);
      *made.proto().mutable_normalizer_spec() = nfkc.normalizer_spec();
      made.Add("<unk>", 0, Proto::UNKNOWN);
      made.Add("a", best).Add("b", -1).Add("c", -2.5).Add("B", -3);
      made.Add("abc", -2).Add("aab", -0.05F).Add("A", -3).Add(".", -3);
      made.Add(std::string(kSpaceSymbol), -2);
      made.Add("ab", -9, Proto::USER_DEFINED);
      made.Add("\uff21", -9, Proto::USER_DEFINED);
      made.Add("\u2026", -9, Proto::USER_DEFINED);
      const auto model = made.Parse();
      ASSERT_THAT(model, IsOk());
      const std::vector<std::string> wanted =
          ProgramSegments(made.proto().SerializeAsString(), sentences);
      ASSERT_EQ(wanted.size(), sentences.size());
      for (size_t i = 0; i < sentences.size(); ++i) {
        EXPECT_EQ(absl::StrJoin(model->Tokenize(sentences[i]), " "), wanted[i])
            << type << ", best score " << best;
      }
    }
  }
}

// Unused pieces must take part in the merges of BPE, and must be split again in
// the end. Unigram and character models must ignore them.
TEST(SentencepieceParityTest, SegmentsUnusedPiecesLikeThePrograms) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  const RandomStream random(3, "unused");
  uint64_t draws = 0;
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random.UniformAt(draws++) *
                                static_cast<double>(below));
  };
  const auto word = [&](int64_t longest) {
    std::string text;
    for (int64_t i = draw(longest) + 1; i > 0; --i) {
      text.push_back("abc"[draw(3)]);
    }
    return text;
  };
  for (const auto type :
       {sentencepiece::TrainerSpec::BPE, sentencepiece::TrainerSpec::UNIGRAM,
        sentencepiece::TrainerSpec::CHAR}) {
    for (int trial = 0; trial < 20; ++trial) {
      HandmadeSentencepiece made(type);
      made.Add("<unk>", 0, Proto::UNKNOWN);
      made.Add(std::string(kSpaceSymbol), -1).Add("a", -2);
      std::set<std::string> pieces = {"a", "b", "c"};
      for (const char* piece : {"b", "c"}) {
        made.Add(piece, -3, draw(2) == 0 ? Proto::UNUSED : Proto::NORMAL);
      }
      for (int i = 0; i < 12; ++i) {
        const std::string piece = word(4);
        const auto score = static_cast<float>(-draw(6));
        if (!pieces.insert(piece).second) continue;
        made.Add(piece, score, draw(2) == 0 ? Proto::UNUSED : Proto::NORMAL);
      }
      const auto model = made.Parse();
      ASSERT_THAT(model, IsOk());
      std::vector<std::string> sentences = {"abc", "ab", "bb", "bxb"};
      for (int i = 0; i < 40; ++i) sentences.push_back(word(9));
      const std::vector<std::string> wanted =
          ProgramSegments(made.proto().SerializeAsString(), sentences);
      ASSERT_EQ(wanted.size(), sentences.size());
      for (size_t i = 0; i < sentences.size(); ++i) {
        EXPECT_EQ(absl::StrJoin(model->Tokenize(sentences[i]), " "), wanted[i])
            << type << ", trial " << trial << ", " << sentences[i];
      }
    }
  }
}

class TrainedModelTest : public ::testing::TestWithParam<SubwordsConfig> {};

TEST_P(TrainedModelTest, SegmentsLikeThePrograms) {
  const std::vector<std::string> sentences = Sentences();
  std::string every_second;
  for (size_t i = 0; i < sentences.size(); i += 2) {
    every_second += sentences[i] + "\n";
  }
  const absl::StatusOr<std::string> bytes =
      TrainSubwords(GetParam(), every_second);
  ASSERT_THAT(bytes, IsOk());
  const auto model = SentencepieceModel::Parse(*bytes, "trained");
  ASSERT_THAT(model, IsOk());
  EXPECT_LE(model->MakeVocabulary().size(), GetParam().vocabulary_size());
  const std::vector<std::string> wanted = ProgramSegments(*bytes, sentences);
  ASSERT_EQ(wanted.size(), sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(absl::StrJoin(model->Tokenize(sentences[i]), " "), wanted[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TrainedModelTest,
    ::testing::Values(Training(SubwordsConfig::BPE, 90),
                      Training(SubwordsConfig::BPE, 60,
                               /*character_coverage=*/0.98),
                      Training(SubwordsConfig::BPE, 90, 1, "identity"),
                      Training(SubwordsConfig::UNIGRAM, 66),
                      Training(SubwordsConfig::CHARACTERS, 200)));

}  // namespace
}  // namespace regard
