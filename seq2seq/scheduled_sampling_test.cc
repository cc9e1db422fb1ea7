#include "seq2seq/scheduled_sampling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ScheduledSamplingConfig Schedule(const char* text) {
  return Parse<ScheduledSamplingConfig>(text);
}

TEST(PredictionProbabilityTest, FollowsTheSchedule) {
  const auto constant = Schedule("probability: 0.25");
  EXPECT_EQ(PredictionProbability(constant, 0), 0.25);
  EXPECT_EQ(PredictionProbability(constant, 1000000), 0.25);
  const auto linear = Schedule("schedule: LINEAR probability: 0.5 updates: 10");
  EXPECT_EQ(PredictionProbability(linear, 0), 0);
  EXPECT_DOUBLE_EQ(PredictionProbability(linear, 4), 0.2);
  EXPECT_EQ(PredictionProbability(linear, 10), 0.5);
  EXPECT_EQ(PredictionProbability(linear, 11), 0.5);
  // The paper's k / (k + exp(i / k)) is the probability of the true word.
  const auto sigmoid =
      Schedule("schedule: INVERSE_SIGMOID probability: 1 updates: 20");
  EXPECT_NEAR(PredictionProbability(sigmoid, 0), 1.0 / 21, 1e-15);
  EXPECT_NEAR(PredictionProbability(sigmoid, 60), 1 - 20 / (20 + std::exp(3.0)),
              1e-15);
  EXPECT_EQ(PredictionProbability(sigmoid, 1000000000), 1);
}

TEST(ValidateScheduledSamplingTest, LocatesProblems) {
  const auto problems = [](const char* text) {
    ConfigProblems problems;
    ValidateScheduledSampling(Schedule(text), problems);
    std::vector<std::string> paths;
    for (const auto& problem : problems.problems()) {
      paths.push_back(problem.path);
    }
    for (const std::string& note : problems.notes()) {
      paths.push_back("note: " + note);
    }
    return paths;
  };
  EXPECT_THAT(problems(""), ElementsAre());
  EXPECT_THAT(problems("schedule: LINEAR updates: 1"), ElementsAre());
  EXPECT_THAT(problems("schedule: LINEAR"), ElementsAre("updates"));
  EXPECT_THAT(problems("schedule: INVERSE_SIGMOID"), ElementsAre("updates"));
  EXPECT_THAT(problems("updates: 5"),
              ElementsAre("note: updates: has no effect unless `schedule` is "
                          "LINEAR or INVERSE_SIGMOID"));
  // The default value must be accepted, because a resolved config contains
  // defaults.
  EXPECT_THAT(problems("updates: 0"), ElementsAre());
}

// Decoders without dropout that compute the attention before or after the step.
const char* const kDecoders[] = {
    "embedding: 5 hidden: 6 readout: STATE_CONTEXT_EMBEDDING",
    "embedding: 5 hidden: 6 query: CURRENT_STATE readout: ATTENTIONAL "
    "input_feeding: true"};

const std::vector<EncodedPair>& Pairs() {
  static const auto* pairs =
      new std::vector<EncodedPair>{{{4, 5, 6, 7, 3}, {4, 6, 5, 7, 6, 3}},
                                   {{6, 3}, {5, 3}},
                                   {{8, 4, 3}, {7, 7, 4, 5, 3}},
                                   {{5, 5, 8, 3}, {6, 5, 4, 4, 7, 3}}};
  return *pairs;
}

class ScheduledSamplingTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Returns the decoder's config with `more` appended.
  static std::string Decoder(const std::string& more) {
    return absl::StrCat(GetParam(), " ", more);
  }
  static TestModel<double> Model(const std::string& decoder) {
    return TestModel<double>(RecurrentConfigTexts{
        "embedding: 5 hidden: 6", "additive { width: 4 }", decoder.c_str()});
  }

  // Returns the readouts of `examples` in training, [batch, time, width].
  static std::vector<double> Readouts(const TestModel<double>& model,
                                      const std::vector<int64_t>& examples,
                                      int64_t step = 0, uint64_t seed = 1) {
    Tape<double> tape;
    Forward<double> forward(tape, model.store(), nullptr);
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({seed, step, examples});
    const Batch batch = MakeBatch(Pairs(), examples, tape.arena());
    const Var<double> readout = model->Run(forward, batch);
    return {readout.span().begin(), readout.span().end()};
  }
};

INSTANTIATE_TEST_SUITE_P(Decoders, ScheduledSamplingTest,
                         ::testing::ValuesIn(kDecoders));

TEST_P(ScheduledSamplingTest, WithProbability0IsTeacherForcing) {
  const std::vector<int64_t> all = {0, 1, 2, 3};
  const std::vector<double> forced = Readouts(Model(Decoder("")), all);
  EXPECT_EQ(
      Readouts(Model(Decoder("scheduled_sampling { probability: 0 }")), all),
      forced);
  // The decoder reads word by word but replaces no word, so the readouts must
  // be bit-identical.
  EXPECT_EQ(
      Readouts(Model(Decoder("scheduled_sampling { probability: 1e-300 }")),
               all),
      forced);
  EXPECT_EQ(Readouts(Model(Decoder("scheduled_sampling { schedule: LINEAR "
                                   "updates: 9 }")),
                     all, /*step=*/0),
            forced);
}

// Returns the likeliest word that is neither padding nor <bos>.
int32_t Likeliest(const TestModel<double>& model, Forward<double>& forward,
                  Var<double> readout) {
  const Var<double> logits = model.head().Logits(forward, readout);
  int32_t best = Vocabulary::kUnknown;
  for (int32_t id = 0; id < kTargetWords; ++id) {
    if (id == Vocabulary::kPad || id == Vocabulary::kBegin) continue;
    if (logits.data()[id] > logits.data()[best]) best = id;
  }
  return best;
}

// The ids and the readouts of a decoder that reads its own predictions.
struct RollOut {
  std::vector<double> readouts;
  std::vector<int32_t> read;  // begins with <bos>
};

RollOut Greedy(const TestModel<double>& model, int64_t example) {
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(Pairs(), {example}, tape.arena());
  DecoderState<double> state =
      model.Begin(forward, batch.source.ids, batch.source.lengths);
  RollOut out;
  int32_t id = Vocabulary::kBegin;
  for (int64_t t = 0; t < batch.input.time; ++t) {
    out.read.push_back(id);
    const Var<double> readout = model->decoder->Advance(
        forward, absl::MakeConstSpan(&id, 1), {}, &state);
    out.readouts.insert(out.readouts.end(), readout.span().begin(),
                        readout.span().end());
    id = Likeliest(model, forward, readout);
  }
  return out;
}

TEST_P(ScheduledSamplingTest, WithProbability1IsAGreedyRollOut) {
  const auto model = Model(Decoder("scheduled_sampling { probability: 1 }"));
  bool differs = false;
  for (int64_t example = 0; example < 4; ++example) {
    const RollOut greedy = Greedy(model, example);
    EXPECT_EQ(Readouts(model, {example}), greedy.readouts);
    const std::vector<int32_t>& target =
        Pairs()[static_cast<size_t>(example)].target;
    for (size_t t = 1; t < greedy.read.size(); ++t) {
      differs |= greedy.read[t] != target[t - 1];
    }
  }
  EXPECT_TRUE(differs) << "the model knows its targets";
}

TEST_P(ScheduledSamplingTest, TheGradientBelongsToTheReadWords) {
  const auto model = Model(Decoder("scheduled_sampling { probability: 1 }"));
  GradientSlab<double> gradients(model.store());
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), &gradients);
  const double seeds[] = {1};
  const std::vector<int64_t> example = {3};
  const auto gradient = [&](bool training, const std::vector<int32_t>& read) {
    forward.BeginStep();
    tape.set_training(training);
    tape.set_random({1, 0, example});
    const Batch batch = MakeBatch(Pairs(), example, tape.arena());
    std::copy(read.begin(), read.end(), batch.input.ids.begin());
    const Var<double> loss[] = {
        model.head().Loss(forward, model->Run(forward, batch), batch.target,
                          /*label_smoothing=*/0.1)};
    forward.Backward(loss, seeds);
    return std::vector<double>(gradients.values().begin(),
                               gradients.values().end());
  };
  const std::vector<double> sampled = gradient(/*training=*/true, {});
  const std::vector<double> forced =
      gradient(/*training=*/false, Greedy(model, 3).read);
  ASSERT_EQ(sampled.size(), forced.size());
  double norm = 0;
  for (size_t i = 0; i < forced.size(); ++i) {
    EXPECT_NEAR(sampled[i], forced[i], 1e-12);
    norm += forced[i] * forced[i];
  }
  EXPECT_GT(norm, 1e-6);
}

TEST_P(ScheduledSamplingTest, DrawsBySeedUpdateExampleAndPosition) {
  const auto model = Model(Decoder("scheduled_sampling { probability: 0.5 }"));
  const std::vector<double> together = Readouts(model, {0, 3});
  // Each row of the batch must equal the result of computing its example
  // separately.
  std::vector<double> apart = Readouts(model, {0});
  const std::vector<double> second = Readouts(model, {3});
  apart.insert(apart.end(), second.begin(), second.end());
  EXPECT_EQ(together, apart);
  EXPECT_EQ(Readouts(model, {0, 3}), together);
  int other_steps = 0;
  int other_seeds = 0;
  for (int i = 1; i < 10; ++i) {
    other_steps += Readouts(model, {0, 3}, i) != together;
    other_seeds +=
        Readouts(model, {0, 3}, 0, static_cast<uint64_t>(1 + i)) != together;
  }
  EXPECT_GT(other_steps, 5);
  EXPECT_GT(other_seeds, 5);
}

TEST_P(ScheduledSamplingTest, IsOnlyForTraining) {
  const auto model = Model(Decoder("scheduled_sampling { probability: 1 }"));
  const auto plain = Model(Decoder(""));
  const auto readouts = [](const TestModel<double>& of) {
    Tape<double> tape;
    Forward<double> forward(tape, of.store(), nullptr);
    forward.BeginStep();
    const Batch batch = MakeBatch(Pairs(), {0, 1, 2, 3}, tape.arena());
    const Var<double> readout = of->Run(forward, batch);
    return std::vector<double>(readout.span().begin(), readout.span().end());
  };
  EXPECT_EQ(readouts(model), readouts(plain));
}

// Tests how often a word is replaced. The tolerance of 5 standard deviations is
// exceeded by chance with probability 6e-7.
TEST(ReplaceByPredictionsTest, ReplacesWithTheProbability) {
  constexpr int64_t kRows = 4000;
  const TestModel<float> model(RecurrentConfigTexts{
      "embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6"});
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  tape.set_random({3, 7, {}});
  const Var<float> readout = tape.Full({kRows, 6}, 0.5f);
  const size_t records = tape.records();
  std::vector<int32_t> ids(kRows, kTargetWords);  // not a word of the model
  ids[0] = Vocabulary::kPad;
  ReplaceByPredictions<float>(forward, model.head(), readout, 0.3, 2,
                              absl::MakeSpan(ids));
  int64_t replaced = 0;
  for (const int32_t id : ids) replaced += id != kTargetWords;
  EXPECT_NEAR(static_cast<double>(replaced), 0.3 * kRows,
              5 * std::sqrt(kRows * 0.3 * 0.7));
  EXPECT_EQ(ids[0], Vocabulary::kPad);
  EXPECT_EQ(tape.records(), records);
  ReplaceByPredictions<float>(forward, model.head(), readout, 1, 2,
                              absl::MakeSpan(ids));
  for (size_t row = 1; row < ids.size(); ++row) {
    EXPECT_LT(ids[row], kTargetWords);
  }
}

TEST(ReplaceByPredictionsDeathTest, RefusesAReadoutOfOtherRows) {
  const TestModel<float> model(RecurrentConfigTexts{
      "embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6"});
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Var<float> readout = tape.Full({2, 6}, 0.5f);
  std::vector<int32_t> ids(3, 4);
  EXPECT_DEATH(ReplaceByPredictions<float>(forward, model.head(), readout, 1, 1,
                                           absl::MakeSpan(ids)),
               "2.*3");
}

}  // namespace
}  // namespace regard
