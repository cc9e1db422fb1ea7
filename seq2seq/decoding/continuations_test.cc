// Compares the best continuations with a full sort.
#include "seq2seq/decoding/continuations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "autodiff/arena.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int32_t kExcluded[] = {Vocabulary::kPad, Vocabulary::kBegin};

// Returns all continuations, best first.
std::vector<Continuation> Sorted(const std::vector<double>& so_far,
                                 const std::vector<float>& logits) {
  const auto beams = static_cast<int64_t>(so_far.size());
  const int64_t vocabulary = static_cast<int64_t>(logits.size()) / beams;
  Tape<float> tape;
  const Var<float> log_probabilities =
      LogSoftmax(tape.Constant({beams, vocabulary}, logits));
  std::vector<Continuation> all;
  for (int32_t beam = 0; beam < beams; ++beam) {
    for (int32_t id = 0; id < vocabulary; ++id) {
      if (id == Vocabulary::kPad || id == Vocabulary::kBegin ||
          log_probabilities.at(beam, id) == kMinusInfinity) {
        continue;
      }
      all.push_back(
          {so_far[beam] + static_cast<double>(log_probabilities.at(beam, id)),
           beam, id});
    }
  }
  // The sort is stable, so ties stay in order of beam and id.
  std::stable_sort(all.begin(), all.end(),
                   [](const Continuation& a, const Continuation& b) {
                     return a.log_probability > b.log_probability;
                   });
  return all;
}

void ExpectBest(int most, const std::vector<double>& so_far,
                const std::vector<float>& logits) {
  const size_t vocabulary = logits.size() / so_far.size();
  Arena arena;
  BestContinuations best(most, static_cast<int64_t>(vocabulary), arena);
  best.Clear(kExcluded);
  for (size_t beam = 0; beam < so_far.size(); ++beam) {
    best.AddLogits(static_cast<int32_t>(beam), so_far[beam],
                   logits.data() + beam * vocabulary);
  }
  std::vector<Continuation> expected = Sorted(so_far, logits);
  expected.resize(std::min(expected.size(), static_cast<size_t>(most)));
  ASSERT_EQ(best.best().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(best.best()[i].log_probability,
                    expected[i].log_probability);
    EXPECT_EQ(best.best()[i].beam, expected[i].beam);
    EXPECT_EQ(best.best()[i].id, expected[i].id);
  }
}

TEST(BestContinuationsTest, MatchASort) {
  const RandomStream random(1, "logits");
  uint64_t at = 0;
  for (const int64_t vocabulary : {1, 3, 4, 16, 63, 64, 65, 200, 1000}) {
    for (const int beams : {1, 2, 5}) {
      for (const int most : {1, 2, 5, 17, 300}) {
        std::vector<double> so_far;
        std::vector<float> logits;
        for (int beam = 0; beam < beams; ++beam) {
          so_far.push_back(-5 * random.UniformAt(at++));
          for (int64_t id = 0; id < vocabulary; ++id) {
            logits.push_back(static_cast<float>(8 * random.UniformAt(at++)));
          }
        }
        SCOPED_TRACE(testing::Message() << vocabulary << " words, " << beams
                                        << " beams, best " << most);
        ExpectBest(most, so_far, logits);
      }
    }
  }
}

TEST(BestContinuationsTest, TiesAreOrderedByBeamAndId) {
  const RandomStream random(2, "logits");
  uint64_t at = 0;
  std::vector<float> logits;
  for (int i = 0; i < 3 * 400; ++i) {
    logits.push_back(static_cast<float>(random.UniformIntAt(at++, 3)));
  }
  // All three beams have the same logits.
  std::copy_n(logits.begin(), 400, logits.begin() + 400);
  std::copy_n(logits.begin(), 400, logits.begin() + 800);
  for (const int most : {1, 5, 100}) ExpectBest(most, {-1, -1, -1}, logits);
}

TEST(BestContinuationsTest, PaddingAndBeginAreNeverChosen) {
  std::vector<float> logits(100, 0);
  logits[Vocabulary::kPad] = 50;
  logits[Vocabulary::kBegin] = 60;
  ExpectBest(1, {0}, logits);
}

TEST(BestContinuationsTest, AnIdOfProbabilityZeroIsNotChosen) {
  std::vector<float> logits(70, kMinusInfinity);
  logits[66] = 1;
  logits[5] = 0;
  ExpectBest(3, {0}, logits);
}

TEST(BestContinuationsTest, ProbabilitiesAreASoftmax) {
  // Words 0 to 4 have probabilities 1/16, 1/16, 2/16, 4/16 and 8/16.
  std::vector<float> logits;
  for (const double p : {1.0, 1.0, 2.0, 4.0, 8.0}) {
    logits.push_back(static_cast<float>(std::log(p)));
  }
  Arena arena;
  BestContinuations best(2, 5, arena);
  best.AddLogits(/*beam=*/7, /*so_far=*/-2, logits.data());
  ASSERT_EQ(best.best().size(), 2);
  EXPECT_EQ(best.best()[0].id, 4);
  EXPECT_EQ(best.best()[0].beam, 7);
  EXPECT_NEAR(best.best()[0].log_probability, -2 + std::log(0.5), 1e-6);
  EXPECT_EQ(best.best()[1].id, 3);
  best.Clear({});
  EXPECT_TRUE(best.best().empty());
}

TEST(BestContinuationsTest, LogProbabilitiesAreTakenAsTheyAre) {
  Arena arena;
  BestContinuations best(2, 3, arena);
  const float log_probabilities[] = {-3, -1, -2};
  best.AddLogProbabilities(/*beam=*/1, /*so_far=*/-10, log_probabilities);
  ASSERT_EQ(best.best().size(), 2);
  EXPECT_EQ(best.best()[0].id, 1);
  EXPECT_EQ(best.best()[0].log_probability, -11);
  EXPECT_EQ(best.best()[1].id, 2);
}

TEST(BestContinuationsTest, ARowOfNanHasNoContinuations) {
  Arena arena;
  BestContinuations best(2, 3, arena);
  const std::vector<float> nan(3, std::numeric_limits<float>::quiet_NaN());
  best.AddLogits(0, 0, nan.data());
  const std::vector<float> impossible(3, kMinusInfinity);
  best.AddLogits(1, 0, impossible.data());
  EXPECT_TRUE(best.best().empty());
}

TEST(RowLogSoftmaxTest, IsTheLogSoftmax) {
  const float logits[] = {1, 2, 3};
  const RowLogSoftmax normalizer = MakeRowLogSoftmax(logits, 3);
  const double sum = std::exp(-2) + std::exp(-1) + 1;
  EXPECT_NEAR(normalizer(1), -2 - std::log(sum), 1e-6);
  EXPECT_NEAR(normalizer(3), -std::log(sum), 1e-6);
}

}  // namespace
}  // namespace regard
