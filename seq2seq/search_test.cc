// Greedy and beam search against what they claim to find, and batches of
// sentences; a tiny model that learns its sentences.
#include "seq2seq/search.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/optimizer.pb.h"
#include "nn/optimizer_registry.h"
#include "nn/optimizers/built_in_optimizers.h"
#include "nn/parameters.h"
#include "nn/worker_pool.h"
#include "seq2seq/batch.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/seq2seq_model.h"
#include "seq2seq/vocabulary.h"

namespace regard {
namespace {

using ::testing::FloatNear;
using ::testing::IsEmpty;
using ::testing::Pointwise;

using Ids = std::vector<int32_t>;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

// A model whose random weights are large enough to prefer some words.
class TestModel {
 public:
  TestModel(const std::string& encoder, const std::string& attention,
            const std::string& decoder, int32_t target_words, float scale)
      : model_(Parse<Encoder>(encoder), Parse<Decoder>(decoder),
               Parse<Attention>(attention), Scorers(), {20, target_words},
               store_.Root()) {
    store_.Finalize(1);
    for (float& value : store_.values()) value *= scale;
  }

  std::vector<Translation> Translate(absl::Span<const Ids> sources,
                                     const SearchOptions& options) const {
    Tape<float> tape;
    Forward<float> forward(tape, store_, nullptr);
    return Search(model_, forward, sources, options);
  }

  const Seq2SeqModel<float>& model() const { return model_; }
  ParameterStore<float>& store() { return store_; }

 private:
  static ScorerRegistry Scorers() {
    ScorerRegistry scorers;
    RegisterBuiltInScores(scorers);
    return scorers;
  }

  ParameterStore<float> store_;
  Seq2SeqModel<float> model_;
};

std::vector<Ids> Sources(int count, uint64_t longest) {
  const RandomStream random(9, "sources");
  std::vector<Ids> sources;
  uint64_t at = 0;
  for (int i = 0; i < count; ++i) {
    Ids ids;
    const uint64_t length = random.BelowAt(at++, longest);
    for (uint64_t t = 0; t < length; ++t) {
      ids.push_back(4 + static_cast<int32_t>(random.BelowAt(at++, 16)));
    }
    ids.push_back(Vocabulary::kEnd);
    sources.push_back(ids);
  }
  return sources;
}

double ScoreOf(const Translation& translation) {
  return translation.log_probability /
         static_cast<double>(translation.ids.size() + 1);
}

// The log probability of `ids` and <eos> by teacher forcing.
double LogProbability(TestModel& model, const Ids& source, const Ids& ids) {
  EncodedPair pair = {source, ids};
  pair.target.push_back(Vocabulary::kEnd);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const int64_t examples[] = {0};
  const Batch batch =
      MakeBatch(absl::MakeConstSpan(&pair, 1), examples, tape.arena());
  const Var<float> readouts =
      model.model().TeacherForced(forward, batch, nullptr);
  const Var<float> probabilities =
      LogSoftmax(model.model().Logits(forward, readouts));
  double sum = 0;
  for (size_t t = 0; t < pair.target.size(); ++t) {
    sum += static_cast<double>(
        probabilities.array()(static_cast<int64_t>(t), pair.target[t]));
  }
  return sum;
}

TEST(SearchTest, AWideBeamFindsTheBestOfAllTranslations) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/6, 3);
  // <unk> and two words: 13 translations of at most two, and then <eos>.
  std::vector<Ids> all = {{}};
  for (size_t i = 0; i < 4; ++i) {
    for (const int32_t id : {0, 4, 5}) {
      Ids longer = all[i];
      longer.push_back(id);
      all.push_back(longer);
    }
  }
  for (const Ids& source : Sources(12, 6)) {
    Translation best;
    for (const Ids& ids : all) {
      Translation candidate;
      candidate.ids = ids;
      candidate.log_probability = LogProbability(model, source, ids);
      if (best.log_probability == 0 || ScoreOf(candidate) > ScoreOf(best)) {
        best = candidate;
      }
    }
    const Translation found = model.Translate(
        {source}, {.beam = 40, .length_factor = 0, .extra_length = 3})[0];
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.ids, best.ids);
    EXPECT_NEAR(found.log_probability, best.log_probability, 1e-4);
    const Translation greedy =
        model.Translate({source}, {.length_factor = 0, .extra_length = 3})[0];
    if (greedy.finished) {
      EXPECT_GE(ScoreOf(found), ScoreOf(greedy) - 1e-6);
    }
  }
}

TEST(SearchTest, ABeamOfOneTakesTheLikeliestWordEachTime) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 4);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const Ids& source : Sources(10, 8)) {
    const Translation found = model.Translate({source}, {})[0];
    forward.BeginStep();
    const std::vector<int32_t> lengths = {static_cast<int32_t>(source.size())};
    DecoderState<float> state;
    const EncodedSource<float> encoded =
        model.model().Encode(forward, source, lengths, &state);
    int32_t last = Vocabulary::kBegin;
    Ids expected;
    while (expected.size() < 2 * source.size() + 10) {
      const auto step = model.model().Advance(
          forward, encoded, state, model.model().Embed(forward, {last}, {1}));
      state = step.state;
      const Var<float> logits = model.model().Logits(forward, step.readout);
      last = Vocabulary::kUnknown;
      for (int32_t id = Vocabulary::kEnd; id < 9; ++id) {
        if (logits.array()(0, id) > logits.array()(0, last)) last = id;
      }
      if (last == Vocabulary::kEnd) break;
      expected.push_back(last);
    }
    EXPECT_EQ(found.ids, expected);
    EXPECT_EQ(found.finished, last == Vocabulary::kEnd);
    if (found.finished) {
      EXPECT_NEAR(found.log_probability,
                  LogProbability(model, source, expected), 1e-3);
      EXPECT_EQ(found.weights.size(), (found.ids.size() + 1) * source.size());
    }
  }
}

TEST(SearchTest, ALongerSearchEndsAtItsLimit) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  // A bias that never lets a sentence end.
  model.store().value(model.model().output_bias())[Vocabulary::kEnd] = -1e3f;
  for (const int beam : {1, 3}) {
    const std::vector<Translation> found =
        model.Translate({{4, 3}, {4, 5, 6, 3}},
                        {.beam = beam, .length_factor = 1, .extra_length = 2});
    ASSERT_EQ(found.size(), 2);
    EXPECT_EQ(found[0].ids.size(), 4);
    EXPECT_EQ(found[1].ids.size(), 6);
    EXPECT_FALSE(found[0].finished);
    EXPECT_EQ(found[1].weights.size(), 6 * 4);
  }
}

TEST(SearchTest, NoSentencesHaveNoTranslations) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 1);
  EXPECT_THAT(model.Translate({}, {}), IsEmpty());
}

void ExpectSame(const Translation& a, const Translation& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.finished, b.finished);
}

// Beam search as its definition reads: each hypothesis anew from the first
// word, all continuations sorted.
Translation SimpleSearch(TestModel& model, const Ids& source,
                         const SearchOptions& options) {
  const Seq2SeqModel<float>& of = model.model();
  const size_t longest =
      options.length_factor * source.size() + options.extra_length;
  const std::vector<int32_t> lengths = {static_cast<int32_t>(source.size())};
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  std::vector<Translation> beams = {{}};
  std::vector<Translation> ended;
  while (beams[0].ids.size() < longest) {
    std::vector<Translation> all;
    for (const Translation& beam : beams) {
      forward.BeginStep();
      DecoderState<float> state;
      const EncodedSource<float> encoded =
          of.Encode(forward, source, lengths, &state);
      Seq2SeqModel<float>::Step step;
      for (size_t t = 0; t <= beam.ids.size(); ++t) {
        const int32_t word = t == 0 ? Vocabulary::kBegin : beam.ids[t - 1];
        step =
            of.Advance(forward, encoded, state, of.Embed(forward, {word}, {1}));
        state = step.state;
      }
      const Var<float> words = LogSoftmax(of.Logits(forward, step.readout));
      for (int32_t id = 0; id < words.cols(); ++id) {
        if (id == Vocabulary::kPad || id == Vocabulary::kBegin) continue;
        Translation longer = beam;
        longer.ids.push_back(id);
        longer.log_probability += static_cast<double>(words.array()(0, id));
        if (step.weights.has_value()) {
          longer.weights.insert(longer.weights.end(), step.weights.data(),
                                step.weights.data() + source.size());
        }
        all.push_back(longer);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Translation& a, const Translation& b) {
                       return a.log_probability > b.log_probability;
                     });
    all.resize(std::min(all.size(), static_cast<size_t>(options.beam)));
    beams.clear();
    for (Translation& translation : all) {
      translation.finished = translation.ids.back() == Vocabulary::kEnd;
      if (translation.finished) translation.ids.pop_back();
      (translation.finished ? ended : beams).push_back(translation);
    }
    if (beams.empty() || ended.size() >= static_cast<size_t>(options.beam)) {
      break;
    }
  }
  if (ended.empty()) return beams[0];
  return *std::max_element(ended.begin(), ended.end(),
                           [](const Translation& a, const Translation& b) {
                             return ScoreOf(a) < ScoreOf(b);
                           });
}

struct Kind {
  const char* encoder;
  const char* attention;
  const char* decoder;
};

class BatchedSearchTest : public ::testing::TestWithParam<Kind> {
 protected:
  static TestModel Model(int32_t target_words, float scale) {
    return TestModel(GetParam().encoder, GetParam().attention,
                     GetParam().decoder, target_words, scale);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, BatchedSearchTest,
    ::testing::Values(
        Kind{"embedding: 7 hidden: 19 bidirectional: true",
             "additive { width: 13 }",
             "embedding: 9 hidden: 17 initial_state: PROJECTED "
             "readout: STATE_CONTEXT_EMBEDDING"},
        Kind{"embedding: 16 hidden: 32 cell: LSTM layers: 2", "dot {}",
             "embedding: 16 hidden: 32 cell: LSTM layers: 2 "
             "query: CURRENT_STATE readout: ATTENTIONAL input_feeding: true"},
        Kind{"embedding: 7 hidden: 16", "coverage {}",
             "embedding: 9 hidden: 16"},
        Kind{"embedding: 7 hidden: 16", "",
             "embedding: 9 hidden: 16 context: LAST_STATE"},
        Kind{"embedding: 7 hidden: 16", "",
             "embedding: 9 hidden: 16 context: NO_CONTEXT"}));

TEST_P(BatchedSearchTest, ASentenceTranslatesTheSameAloneAndInAnyBatch) {
  const TestModel model = Model(/*target_words=*/37, 2);
  std::vector<Ids> sources = Sources(150, 12);
  for (const int beam : {1, 3}) {
    const std::vector<Translation> together =
        model.Translate(sources, {.beam = beam});
    std::vector<Ids> reversed(sources.rbegin(), sources.rend());
    const std::vector<Translation> backwards =
        model.Translate(reversed, {.beam = beam});
    for (size_t i = 0; i < sources.size(); ++i) {
      ExpectSame(together[i], backwards[sources.size() - 1 - i]);
      ExpectSame(together[i], model.Translate({sources[i]}, {.beam = beam})[0]);
    }
  }
}

TEST_P(BatchedSearchTest, SentencesThatEndEarlierLeaveTheOthersAsTheyAre) {
  bool at_different_steps = false;
  // Three words: no sentence ends. Four: <unk> and <eos>, less than a beam.
  for (const int32_t target_words : {3, 4, 6, 71}) {
    TestModel model = Model(target_words, 2);
    const std::vector<Ids> sources = Sources(9, 9);
    for (const int beam : {1, 2, 5}) {
      const SearchOptions options = {
          .beam = beam, .length_factor = 1, .extra_length = 4};
      const std::vector<Translation> found = model.Translate(sources, options);
      size_t shortest = 1000;
      size_t longest = 0;
      for (size_t i = 0; i < sources.size(); ++i) {
        SCOPED_TRACE(testing::Message() << target_words << " words, beam "
                                        << beam << ", sentence " << i);
        const Translation expected = SimpleSearch(model, sources[i], options);
        EXPECT_EQ(found[i].ids, expected.ids);
        EXPECT_THAT(found[i].weights,
                    Pointwise(FloatNear(1e-5f), expected.weights));
        EXPECT_NEAR(found[i].log_probability, expected.log_probability, 1e-4);
        EXPECT_EQ(found[i].finished, expected.finished);
        shortest = std::min(shortest, found[i].ids.size());
        longest = std::max(longest, found[i].ids.size());
      }
      at_different_steps |= shortest < longest;
    }
  }
  EXPECT_TRUE(at_different_steps);
}

TEST_P(BatchedSearchTest, WeightsAreThoseOfTeacherForcingOnTheTranslation) {
  TestModel model = Model(/*target_words=*/37, 2);
  const std::vector<Ids> sources = Sources(20, 12);
  for (const int beam : {1, 5}) {
    const std::vector<Translation> found =
        model.Translate(sources, {.beam = beam});
    for (size_t i = 0; i < sources.size(); ++i) {
      EncodedPair pair = {sources[i], found[i].ids};
      if (found[i].finished) pair.target.push_back(Vocabulary::kEnd);
      Tape<float> tape;
      Forward<float> forward(tape, model.store(), nullptr);
      forward.BeginStep();
      std::vector<Var<float>> weights;
      const Batch batch =
          MakeBatch(absl::MakeConstSpan(&pair, 1), {0}, tape.arena());
      model.model().TeacherForced(forward, batch, &weights);
      std::vector<float> expected;
      for (const Var<float>& row : weights) {
        expected.insert(expected.end(), row.data(), row.data() + row.size());
      }
      ASSERT_EQ(found[i].weights.size(), expected.size());
      for (size_t j = 0; j < expected.size(); ++j) {
        EXPECT_NEAR(found[i].weights[j], expected[j], 1e-6);
      }
    }
  }
}

TEST(SearchTest, NoWordsAllowedMakeAnEmptyTranslation) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 1);
  const Translation found =
      model.Translate({{4, 3}}, {.length_factor = 0, .extra_length = 0})[0];
  EXPECT_THAT(found.ids, IsEmpty());
  EXPECT_THAT(found.weights, IsEmpty());
  EXPECT_FALSE(found.finished);
}

TEST(SearchTest, AWarmSearchAllocatesAsMuchForFewStepsAsForMany) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  model.store().value(model.model().output_bias())[Vocabulary::kEnd] = -1e3f;
  const std::vector<Ids> sources = Sources(10, 6);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const int beam : {1, 3}) {
    std::vector<int64_t> allocations;
    // Twice for warmth.
    for (const int words : {50, 50, 5, 50}) {
      const int64_t before = AllocationCount();
      Search(model.model(), forward, sources,
             {.beam = beam, .length_factor = 0, .extra_length = words});
      allocations.push_back(AllocationCount() - before);
    }
    EXPECT_EQ(allocations[2], allocations[3]);
    // Ids and weights of each translation, and what is made once.
    EXPECT_LE(allocations[3], 2 * 10 + 10);
  }
}

TEST(SearchTest, RecordsNothing) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  GradientSlab<float> gradients(model.store());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), &gradients);
  Search(model.model(), forward, {{4, 5, 3}}, {});
  EXPECT_EQ(tape.records(), 0);
  EXPECT_TRUE(tape.recording());
}

TEST(OverfitTest, ATinyModelLearnsItsSentences) {
  TestModel model("embedding: 16 hidden: 24", "additive {}",
                  "embedding: 16 hidden: 24", /*target_words=*/16, 1);
  std::vector<EncodedPair> pairs;
  std::vector<int64_t> examples;
  std::vector<Ids> sources = Sources(8, 7);
  for (int32_t i = 0; i < 8; ++i) {
    // The source backwards, in other words, after a word of its own.
    sources[i].insert(sources[i].begin(), 4 + i);
    EncodedPair pair = {sources[i], {}};
    for (size_t t = sources[i].size() - 1; t-- > 0;) {
      pair.target.push_back(4 + (sources[i][t] - 4) % 12);
    }
    pair.target.push_back(Vocabulary::kEnd);
    pairs.push_back(pair);
    examples.push_back(i);
  }
  GradientSlab<float> gradients(model.store());
  WorkerPool pool(1);
  OptimizerRegistry optimizers;
  RegisterBuiltInOptimizers(optimizers);
  const auto optimizer = optimizers.Create(OptimizerConfig(), model.store());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), &gradients);
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    forward.BeginStep();
    const Batch batch = MakeBatch(pairs, examples, tape.arena());
    const Var<float> readouts =
        model.model().TeacherForced(forward, batch, nullptr);
    const Var<float> sums[] = {LinearCrossEntropy(
        readouts.WithShape({readouts.rows(), readouts.cols()}),
        forward[model.model().output_weight()],
        forward[model.model().output_bias()], batch.target,
        {.ignore_id = Vocabulary::kPad})};
    const double seeds[] = {1.0 / 8};
    loss = static_cast<double>(sums[0].item()) / 8;
    forward.Backward(sums, seeds);
    optimizer->Update({.learning_rate = 0.01, .gradient = gradients.values()},
                      pool);
  }
  EXPECT_LT(loss, 0.05);
  for (const EncodedPair& pair : pairs) {
    Ids expected(pair.target.begin(), pair.target.end() - 1);
    EXPECT_EQ(model.Translate({pair.source}, {})[0].ids, expected);
  }
}

}  // namespace
}  // namespace regard
