// Tests n-best lists, samples and ensembles of recurrent models.
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

using Ids = std::vector<int32_t>;

constexpr RecurrentConfigTexts kAdditive = {
    "embedding: 7 hidden: 19", "additive {}", "embedding: 9 hidden: 19"};
constexpr RecurrentConfigTexts kDot = {
    "embedding: 8 hidden: 16 cell: LSTM", "dot {}",
    "embedding: 8 hidden: 16 cell: LSTM query: CURRENT_STATE "
    "readout: ATTENTIONAL input_feeding: true"};
constexpr RecurrentConfigTexts kNoContext = {
    "embedding: 5 hidden: 8", nullptr,
    "embedding: 5 hidden: 8 context: NO_CONTEXT"};

std::vector<Ids> Sources(int count) {
  const RandomStream random(9, "sources");
  std::vector<Ids> sources;
  uint64_t at = 0;
  for (int i = 0; i < count; ++i) {
    Ids ids;
    const uint64_t length = random.UniformIntAt(at++, 9);
    for (uint64_t t = 0; t < length; ++t) {
      ids.push_back(4 + static_cast<int32_t>(random.UniformIntAt(at++, 5)));
    }
    ids.push_back(Vocabulary::kEnd);
    sources.push_back(ids);
  }
  return sources;
}

// A model with its own tape.
class Member {
 public:
  explicit Member(const RecurrentConfigTexts& configs, float scale = 1)
      : model_(configs) {
    for (float& value : model_.store().values()) value *= scale;
  }

  TranslationMember Of() { return {&*model_, &forward_}; }
  std::vector<std::vector<Translation>> Translate(absl::Span<const Ids> sources,
                                                  const SearchConfig& search) {
    return TranslateIds({Of()}, sources, search, /*want_weights=*/true);
  }

  // Returns the log-probability of `ids` and <eos>, by teacher forcing.
  double LogProbability(const Ids& source, const Ids& ids) {
    EncodedPair pair = {source, ids};
    pair.target.push_back(Vocabulary::kEnd);
    forward_.BeginStep();
    const Batch batch =
        MakeBatch(absl::MakeConstSpan(&pair, 1), {0}, tape_.arena());
    const Var<float> log_probabilities = LogSoftmax(
        model_.head().Logits(forward_, model_->Run(forward_, batch)));
    double sum = 0;
    for (size_t t = 0; t < pair.target.size(); ++t) {
      sum += static_cast<double>(
          log_probabilities.at(static_cast<int64_t>(t), pair.target[t]));
    }
    return sum;
  }

 private:
  TestModel<float> model_;
  Tape<float> tape_;
  Forward<float> forward_{tape_, model_.store(), nullptr};
};

SearchConfig Beam(int beam) {
  SearchConfig search;
  search.set_beam(beam);
  return search;
}

void ExpectSame(const Translation& a, const Translation& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.finished, b.finished);
}

class TranslatorEnsembleTest
    : public ::testing::TestWithParam<RecurrentConfigTexts> {};

INSTANTIATE_TEST_SUITE_P(Kinds, TranslatorEnsembleTest,
                         ::testing::Values(kAdditive, kDot, kNoContext));

TEST_P(TranslatorEnsembleTest, NBestAndSamplesDoNotDependOnTheBatch) {
  Member member(GetParam(), 2);
  const std::vector<Ids> sources = Sources(40);
  SearchConfig n_best = Beam(4);
  n_best.set_n_best(3);
  n_best.set_coverage_penalty(0.2);
  SearchConfig samples;
  samples.set_n_best(3);
  samples.mutable_sampling()->set_top_k(6);
  for (const SearchConfig& search : {n_best, samples}) {
    const auto together = member.Translate(sources, search);
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto alone = member.Translate({sources[i]}, search)[0];
      ASSERT_EQ(together[i].size(), 3);
      ASSERT_EQ(alone.size(), 3);
      for (size_t n = 0; n < 3; ++n) {
        ExpectSame(together[i][n], alone[n]);
        if (n == 0) continue;
        EXPECT_GE(alone[n - 1].finished, alone[n].finished);
        if (alone[n - 1].finished == alone[n].finished) {
          EXPECT_GE(alone[n - 1].score, alone[n].score);
        }
      }
    }
  }
}

TEST_P(TranslatorEnsembleTest, AnEnsembleOfOneModelTwiceEqualsTheModel) {
  Member first(GetParam(), 2);
  Member second(GetParam(), 2);
  const std::vector<Ids> sources = Sources(20);
  for (const int beam : {1, 3}) {
    const auto alone = first.Translate(sources, Beam(beam));
    const auto twice = TranslateIds({first.Of(), second.Of()}, sources,
                                    Beam(beam), /*want_weights=*/true);
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(alone[i][0].ids, twice[i][0].ids);
      EXPECT_EQ(alone[i][0].weights, twice[i][0].weights);
      EXPECT_NEAR(alone[i][0].log_probability, twice[i][0].log_probability,
                  1e-5);
    }
  }
}

TEST_P(TranslatorEnsembleTest, AveragesTheLogProbabilities) {
  Member first(GetParam(), 1);
  Member second(kDot, 1.3F);
  SearchConfig search = Beam(8);
  search.set_ensemble_mean(SearchConfig::LOG_PROBABILITIES);
  search.set_length_penalty(0);
  int finished = 0;
  for (const Ids& source : Sources(10)) {
    const auto found = TranslateIds({first.Of(), second.Of()}, {source}, search,
                                    /*want_weights=*/false);
    const Translation& best = found[0][0];
    EXPECT_TRUE(best.weights.empty());
    if (!best.finished) continue;
    ++finished;
    EXPECT_NEAR(best.log_probability,
                (first.LogProbability(source, best.ids) +
                 second.LogProbability(source, best.ids)) /
                    2,
                1e-4);
  }
  EXPECT_GT(finished, 0);
}

}  // namespace
}  // namespace regard
