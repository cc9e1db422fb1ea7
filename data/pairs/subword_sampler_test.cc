#include "data/pairs/subword_sampler.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/pairs/pairs.pb.h"
#include "data/parallel_corpus.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/sentencepiece_model.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::shared_ptr<const SentencepieceModel> Model() {
  sentencepiece::ModelProto proto;
  proto.mutable_trainer_spec()->set_model_type(
      sentencepiece::TrainerSpec::UNIGRAM);
  const std::map<std::string, float> scores = {
      {"a", -2}, {"b", -2}, {"ab", -2}, {"ba", -3}, {"\u2581", -1}};
  for (const auto& [piece, score] : scores) {
    auto* added = proto.add_pieces();
    added->set_piece(piece);
    added->set_score(score);
  }
  return std::make_shared<SentencepieceModel>(
      SentencepieceModel::Parse(proto.SerializeAsString(), "m").value());
}

class SubwordSamplerTest : public ::testing::Test {
 protected:
  using Texts = std::vector<std::pair<const char*, const char*>>;

  // `options` is a PairsConfig in text format.
  std::unique_ptr<SubwordSampler> Sampler(const std::string& options,
                                          uint64_t seed = 0,
                                          const Texts& texts = {
                                              {"abab", "ba"},
                                              {"ababababab", "abxa"},
                                              {"a", "abababababab"}}) const {
    PairsConfig config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(options, &config));
    auto sampler =
        std::make_unique<SubwordSampler>(model_, model_, config, seed);
    for (const auto& [source, target] : texts) sampler->Add(source, target);
    EXPECT_THAT(sampler->Finish(), IsOk());
    return sampler;
  }

  // Returns the tokens of all sides.
  std::vector<std::vector<std::string>> Sides(
      const std::unique_ptr<SubwordSampler>& sampler,
      std::optional<int64_t> epoch) const {
    ParallelCorpus corpus;
    sampler->Segment(epoch, vocabulary_, vocabulary_, &corpus);
    std::vector<std::vector<std::string>> sides;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      sides.push_back(vocabulary_.Decode(corpus[i].source));
      sides.push_back(vocabulary_.Decode(corpus[i].target));
    }
    return sides;
  }

  const std::shared_ptr<const SentencepieceModel> model_ = Model();
  const Vocabulary vocabulary_ = model_->MakeVocabulary();
};

TEST_F(SubwordSamplerTest, IsAFunctionOfSeedEpochAndExample) {
  const auto sampler = Sampler("", 1);
  EXPECT_EQ(sampler->size(), 3);
  const auto first = Sides(sampler, 7);
  EXPECT_EQ(Sides(sampler, 7), first);
  EXPECT_EQ(Sides(Sampler("", 1), 7), first);
  std::set<std::vector<std::string>> seen[2];
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    seen[0].insert(Sides(sampler, epoch)[2]);
    seen[1].insert(Sides(Sampler("", 2), epoch)[2]);
  }
  EXPECT_GT(seen[0].size(), 5);
  EXPECT_NE(seen[0], seen[1]);
  // Sides with the same text get independent segmentations.
  const auto sides = Sides(Sampler("", 1, Texts(10, {"ababab", "ababab"})), 0);
  EXPECT_GT(
      (std::set<std::vector<std::string>>(sides.begin(), sides.end()).size()),
      2);
}

TEST_F(SubwordSamplerTest, WithoutAnEpochSegmentsInTheBestWay) {
  const auto sampler = Sampler("subwords { sampling { alpha: 0 } }");
  const auto sides = Sides(sampler, std::nullopt);
  EXPECT_EQ(sides[0], model_->Tokenize("abab"));
  EXPECT_THAT(sides[3], ElementsAre("\u2581", "ab", "<unk>", "a"));
}

TEST_F(SubwordSamplerTest, ADrawOverTheCapIsReplacedByTheBest) {
  const auto capped =
      Sampler("max_tokens: 6 subwords { sampling { alpha: 0 } }");
  const auto free = Sampler("subwords { sampling { alpha: 0 } }");
  int replaced = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const auto drawn = Sides(free, epoch)[2];
    const auto used = Sides(capped, epoch)[2];
    if (drawn.size() > 6) {
      ++replaced;
      EXPECT_EQ(used, model_->Tokenize("ababababab"));
    } else {
      EXPECT_EQ(used, drawn);
    }
  }
  EXPECT_GT(replaced, 0);
}

TEST_F(SubwordSamplerTest, KnowsTheLongestSides) {
  using Lengths = std::pair<int64_t, int64_t>;
  EXPECT_EQ(Sampler("")->MaxLengths(), Lengths(12, 14));
  EXPECT_EQ(Sampler("max_tokens: 12")->MaxLengths(), Lengths(12, 13));
  EXPECT_EQ(Sampler("cut_tokens: 4")->MaxLengths(), Lengths(4, 4));
  EXPECT_EQ(Sampler("", 0, {})->MaxLengths(), Lengths(0, 0));
}

TEST_F(SubwordSamplerTest, NoPairsGiveAnEmptyCorpus) {
  EXPECT_THAT(Sides(Sampler("", 0, {}), 3), IsEmpty());
}

TEST_F(SubwordSamplerTest, CutsToTheNumberOfSteps) {
  ParallelCorpus corpus;
  Sampler("cut_tokens: 3")->Segment(5, vocabulary_, vocabulary_, &corpus);
  EXPECT_EQ(corpus[1].source.size(), 3);
  EXPECT_NE(corpus[1].source.back(), Vocabulary::kEnd);
}

}  // namespace
}  // namespace regard
