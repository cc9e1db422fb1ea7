// Tests greedy and beam search with recurrent models against brute force, and
// batches of sentences.
#include "seq2seq/translator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/inspection/attention_maps.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"

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
      : model_(MakeModel<float>(
            Parse<EncoderDecoderConfig>(
                absl::StrCat("encoder {", encoder, "} attention {", attention,
                             "} decoder {", decoder, "}")),
            Scorers(), {.source = 20, .target = target_words}, store_.Root())) {
    store_.Finalize(1);
    for (float& value : store_.values()) value *= scale;
  }

  std::vector<Translation> Translate(absl::Span<const Ids> sources,
                                     const SearchConfig& search) const {
    Tape<float> tape;
    Forward<float> forward(tape, store_, nullptr);
    std::vector<Translation> best;
    for (auto& found : TranslateIds({{&model_, &forward}}, sources, search,
                                    /*want_weights=*/true)) {
      best.push_back(std::move(found.front()));
    }
    return best;
  }

  const EncoderDecoder<float>& model() const { return model_; }
  ParameterStore<float>& store() { return store_; }
  // Makes the model write sentences that never end.
  void ForbidEnd() {
    store_.value(*store_.FindByName("decoder.output.bias"))[Vocabulary::kEnd] =
        -1e3f;
  }

  DecoderState<float> Begin(Forward<float>& forward, const Ids& source,
                            absl::Span<const int32_t> lengths) const {
    return model_.decoder->Begin(
        forward, model_.encoder->Encode(forward, source, lengths));
  }
  // Returns the log-probabilities of the next id, [1, vocabulary], and the
  // alignment.
  std::pair<Var<float>, Var<float>> Advance(Forward<float>& forward, int32_t id,
                                            DecoderState<float>* state) const {
    CapturingHook<float> hook("*attention/weights");
    forward.set_hook(&hook);
    const Var<float> output = model_.decoder->Advance(
        forward, absl::MakeConstSpan(&id, 1), {}, state);
    forward.set_hook(nullptr);
    return {LogSoftmax(model_.decoder->head().Logits(
                forward, output.Reshape({1, output.cols()}))),
            hook.names().empty() ? Var<float>() : hook["*"]};
  }

 private:
  static AttentionRegistry Scorers() {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    return scorers;
  }

  ParameterStore<float> store_;
  EncoderDecoder<float> model_;
};

std::vector<Ids> Sources(int count, uint64_t longest) {
  const RandomStream random(9, "sources");
  std::vector<Ids> sources;
  uint64_t at = 0;
  for (int i = 0; i < count; ++i) {
    Ids ids;
    const uint64_t length = random.UniformIntAt(at++, longest);
    for (uint64_t t = 0; t < length; ++t) {
      ids.push_back(4 + static_cast<int32_t>(random.UniformIntAt(at++, 16)));
    }
    ids.push_back(Vocabulary::kEnd);
    sources.push_back(ids);
  }
  return sources;
}

SearchConfig Options(int beam) {
  SearchConfig config;
  config.set_beam(beam);
  return config;
}
SearchConfig Options(int beam, double ratio, int length) {
  SearchConfig config = Options(beam);
  config.set_max_length_ratio(ratio);
  config.set_max_length(length);
  return config;
}

// Returns log p / ((5 + length) / 6)^alpha with alpha = 1, where the length
// includes <eos>.
double ScoreOf(const Translation& translation) {
  return translation.log_probability * 6 /
         static_cast<double>(5 + translation.num_choices());
}

// Returns the log-probability of `ids` and <eos> by teacher forcing.
double LogProbability(TestModel& model, const Ids& source, const Ids& ids) {
  EncodedPair pair = {source, ids};
  pair.target.push_back(Vocabulary::kEnd);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const int64_t examples[] = {0};
  const Batch batch =
      MakeBatch(absl::MakeConstSpan(&pair, 1), examples, tape.arena());
  const Var<float> probabilities =
      LogSoftmax(model.model().decoder->head().Logits(
          forward, model.model().Run(forward, batch)));
  double sum = 0;
  for (size_t t = 0; t < pair.target.size(); ++t) {
    sum += static_cast<double>(
        probabilities.at(static_cast<int64_t>(t), pair.target[t]));
  }
  return sum;
}

TEST(TranslateTest, AWideBeamFindsTheBestOfAllTranslations) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/6, 3);
  // There are three words, <unk> included, so there are 13 translations of at
  // most two words. Each translation is followed by <eos>.
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
      candidate.finished = true;
      candidate.log_probability = LogProbability(model, source, ids);
      if (best.log_probability == 0 || ScoreOf(candidate) > ScoreOf(best)) {
        best = candidate;
      }
    }
    const Translation found = model.Translate({source}, Options(40, 0, 3))[0];
    EXPECT_TRUE(found.finished);
    EXPECT_EQ(found.ids, best.ids);
    EXPECT_NEAR(found.log_probability, best.log_probability, 1e-4);
    const Translation greedy = model.Translate({source}, Options(1, 0, 3))[0];
    EXPECT_TRUE(greedy.finished);
    EXPECT_GE(ScoreOf(found), ScoreOf(greedy) - 1e-6);
  }
}

TEST(TranslateTest, ABeamOfOneTakesTheMostLikelyWordEachTime) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 4);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const Ids& source : Sources(10, 8)) {
    const Translation found = model.Translate({source}, SearchConfig())[0];
    forward.BeginStep();
    const std::vector<int32_t> lengths = {static_cast<int32_t>(source.size())};
    DecoderState<float> state = model.Begin(forward, source, lengths);
    int32_t last = Vocabulary::kBegin;
    Ids expected;
    while (last != Vocabulary::kEnd) {
      const Var<float> logits = model.Advance(forward, last, &state).first;
      last = Vocabulary::kUnknown;
      for (int32_t id = Vocabulary::kEnd; id < 9; ++id) {
        if (logits.at(0, id) > logits.at(0, last)) last = id;
      }
      if (expected.size() + 1 == 2 * source.size() + 10) {
        last = Vocabulary::kEnd;
      }
      if (last != Vocabulary::kEnd) expected.push_back(last);
    }
    EXPECT_EQ(found.ids, expected);
    EXPECT_TRUE(found.finished);
    EXPECT_NEAR(found.log_probability, LogProbability(model, source, expected),
                1e-3);
    EXPECT_EQ(found.num_choices(), found.ids.size() + 1);
    EXPECT_EQ(found.weights.size(), (found.ids.size() + 1) * source.size());
  }
}

TEST(TranslateTest, ALongerSearchEndsAtItsLimit) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  model.ForbidEnd();
  for (const int beam : {1, 3}) {
    const std::vector<Translation> found =
        model.Translate({{4, 3}, {4, 5, 6, 3}}, Options(beam, 1, 2));
    ASSERT_EQ(found.size(), 2);
    // The last choice must be <eos>, although the model gives it almost no
    // probability.
    EXPECT_EQ(found[0].ids.size(), 3);
    EXPECT_EQ(found[1].ids.size(), 5);
    EXPECT_TRUE(found[0].finished);
    EXPECT_EQ(found[1].num_choices(), 6);
    EXPECT_EQ(found[1].weights.size(), 6 * 4);
  }
}

TEST(TranslateTest, NoSentencesHaveNoTranslations) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 1);
  EXPECT_THAT(model.Translate({}, SearchConfig()), IsEmpty());
}

void ExpectSame(const Translation& a, const Translation& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.finished, b.finished);
}

const Translation& Best(const std::vector<Translation>& translations) {
  return *std::max_element(translations.begin(), translations.end(),
                           [](const Translation& a, const Translation& b) {
                             return ScoreOf(a) < ScoreOf(b);
                           });
}

// A simple beam search. It decodes each hypothesis again from its first word,
// and sorts all continuations.
Translation SimpleSearch(TestModel& model, const Ids& source,
                         const SearchConfig& search) {
  const size_t longest =
      static_cast<size_t>(search.max_length_ratio()) * source.size() +
      static_cast<size_t>(search.max_length());
  const auto width = static_cast<size_t>(search.beam());
  const std::vector<int32_t> lengths = {static_cast<int32_t>(source.size())};
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  std::vector<Translation> beams = {{}};
  std::vector<Translation> ended;
  while (beams[0].ids.size() < longest) {
    std::vector<Translation> all;
    for (const Translation& beam : beams) {
      forward.BeginStep();
      DecoderState<float> state = model.Begin(forward, source, lengths);
      Var<float> words, weights;
      for (size_t t = 0; t <= beam.ids.size(); ++t) {
        const int32_t word = t == 0 ? Vocabulary::kBegin : beam.ids[t - 1];
        std::tie(words, weights) = model.Advance(forward, word, &state);
      }
      const bool ends =
          beam.ids.size() + 1 == longest && words.cols() > Vocabulary::kEnd;
      for (int32_t id = 0; id < words.cols(); ++id) {
        if (id == Vocabulary::kPad || id == Vocabulary::kBegin) continue;
        if (ends && id != Vocabulary::kEnd) continue;
        Translation longer = beam;
        longer.ids.push_back(id);
        longer.log_probability += static_cast<double>(words.at(0, id));
        if (weights.has_value()) {
          longer.weights.insert(longer.weights.end(), weights.data(),
                                weights.data() + source.size());
        }
        all.push_back(longer);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Translation& a, const Translation& b) {
                       return a.log_probability > b.log_probability;
                     });
    all.resize(std::min(all.size(), 2 * width));
    beams.clear();
    for (size_t rank = 0; rank < all.size(); ++rank) {
      Translation& translation = all[rank];
      translation.finished = translation.ids.back() == Vocabulary::kEnd;
      if (translation.finished) {
        translation.ids.pop_back();
        if (rank < width) ended.push_back(translation);
      } else if (beams.size() < width) {
        beams.push_back(translation);
      }
    }
    if (beams.empty()) break;
    if (ended.size() < width) continue;
    const Translation& best = Best(ended);
    if (std::none_of(beams.begin(), beams.end(), [&](const Translation& beam) {
          return ScoreOf(beam) > ScoreOf(best);
        })) {
      break;
    }
  }
  return ended.empty() ? beams[0] : Best(ended);
}

struct Kind {
  const char* encoder;
  const char* attention;
  const char* decoder;
};

class BatchedTranslateTest : public ::testing::TestWithParam<Kind> {
 protected:
  static TestModel Model(int32_t target_words, float scale) {
    return TestModel(GetParam().encoder, GetParam().attention,
                     GetParam().decoder, target_words, scale);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, BatchedTranslateTest,
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

TEST_P(BatchedTranslateTest, ATranslationDoesNotDependOnTheBatch) {
  const TestModel model = Model(/*target_words=*/37, 2);
  std::vector<Ids> sources = Sources(150, 12);
  for (const int beam : {1, 3}) {
    const std::vector<Translation> together =
        model.Translate(sources, Options(beam));
    std::vector<Ids> reversed(sources.rbegin(), sources.rend());
    const std::vector<Translation> backwards =
        model.Translate(reversed, Options(beam));
    for (size_t i = 0; i < sources.size(); ++i) {
      ExpectSame(together[i], backwards[sources.size() - 1 - i]);
      ExpectSame(together[i], model.Translate({sources[i]}, Options(beam))[0]);
    }
  }
}

TEST_P(BatchedTranslateTest, EndedSentencesDoNotChangeOthers) {
  bool at_different_steps = false;
  // With three ids, the vocabulary has no <eos>, so no sentence ends. With four
  // ids, only <unk> and <eos> are possible, so there are fewer ids than
  // hypotheses in the beam.
  for (const int32_t target_words : {3, 4, 6, 71}) {
    TestModel model = Model(target_words, 2);
    const std::vector<Ids> sources = Sources(9, 9);
    for (const int beam : {1, 2, 5}) {
      const SearchConfig options = Options(beam, 1, 4);
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

TEST_P(BatchedTranslateTest, WeightsMatchTeacherForcingOnTheTranslation) {
  TestModel model = Model(/*target_words=*/37, 2);
  const std::vector<Ids> sources = Sources(20, 12);
  for (const int beam : {1, 5}) {
    const std::vector<Translation> found =
        model.Translate(sources, Options(beam));
    for (size_t i = 0; i < sources.size(); ++i) {
      EncodedPair pair = {sources[i], found[i].ids};
      if (found[i].finished) pair.target.push_back(Vocabulary::kEnd);
      Tape<float> tape;
      Forward<float> forward(tape, model.store(), nullptr);
      forward.BeginStep();
      const Batch batch =
          MakeBatch(absl::MakeConstSpan(&pair, 1), {0}, tape.arena());
      const std::vector<float> expected =
          MemoryAlignment<float>(
              RecordAttentionMaps(forward, {kDecoderMaps},
                                  [&] { model.model().Run(forward, batch); }))
              .weights;
      ASSERT_EQ(found[i].weights.size(), expected.size());
      for (size_t j = 0; j < expected.size(); ++j) {
        EXPECT_NEAR(found[i].weights[j], expected[j], 1e-6);
      }
    }
  }
}

TEST(TranslateTest, NoWordsAllowedMakeAnEmptyTranslation) {
  TestModel model("embedding: 5 hidden: 6", "dot {}", "embedding: 5 hidden: 6",
                  /*target_words=*/9, 1);
  const Translation found = model.Translate({{4, 3}}, Options(1, 0, 0))[0];
  EXPECT_THAT(found.ids, IsEmpty());
  EXPECT_THAT(found.weights, IsEmpty());
  EXPECT_FALSE(found.finished);
}

TEST(TranslateTest, AWarmSearchAllocatesAsMuchForFewStepsAsForMany) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  model.ForbidEnd();
  const std::vector<Ids> sources = Sources(10, 6);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const int beam : {1, 3}) {
    std::vector<int64_t> allocations;
    // The first two searches are for warm-up.
    for (const int words : {50, 50, 5, 50}) {
      const int64_t before = AllocationCount();
      TranslateIds({{&model.model(), &forward}}, sources,
                   Options(beam, 0, words), /*want_weights=*/true);
      allocations.push_back(AllocationCount() - before);
    }
    EXPECT_EQ(allocations[2], allocations[3]);
    // Each of the ten sources needs memory for a list of one translation with
    // ids and weights. All other arrays are allocated once.
    EXPECT_LE(allocations[3], 4 * 10 + 20);
  }
}

TEST(TranslateTest, RecordsNothing) {
  TestModel model("embedding: 5 hidden: 6", "additive {}",
                  "embedding: 5 hidden: 6", /*target_words=*/9, 1);
  GradientSlab<float> gradients(model.store());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), &gradients);
  TranslateIds({{&model.model(), &forward}}, {{{4, 5, 3}}}, SearchConfig(),
               /*want_weights=*/true);
  EXPECT_EQ(tape.records(), 0);
  EXPECT_TRUE(tape.recording());
}

}  // namespace
}  // namespace regard
