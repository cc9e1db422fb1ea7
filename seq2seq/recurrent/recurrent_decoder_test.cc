// Compares decoders that read all ids at once with decoders that read ids one
// by one and have the same parameters. Also tests which decoders read ids one
// by one.
#include "seq2seq/recurrent/recurrent_decoder.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"

namespace regard {
namespace {

// Returns pairs with targets of decreasing length and sources of increasing
// length.
const std::vector<EncodedPair>& Pairs() {
  static const auto* pairs =
      new std::vector<EncodedPair>{{{8, 3}, {5, 5, 6, 4, 3}},
                                   {{4, 5, 6, 3}, {4, 7, 3}},
                                   {{7, 4, 7, 4, 5, 3}, {3}}};
  return *pairs;
}

struct Result {
  std::vector<double> readouts;  // without padding
  std::vector<double> gradients;
  bool steps;  // whether ids were read one by one
};

Result Read(const EncoderDecoderConfig& config,
            const std::vector<int64_t>& examples, bool with_lengths,
            const std::vector<EncodedPair>& pairs = Pairs()) {
  const TestModel<double> model(config);
  GradientSlab<double> gradients(model.store());
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), &gradients);
  SiteValueRecorder<double> recorder({"*decoder/layer[0]/state"});
  forward.set_hook(&recorder);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const Var<double> readout = model->Run(
      forward, batch,
      with_lengths ? batch.input.lengths : absl::Span<const int32_t>());
  Result result;
  for (int64_t row = 0; row < batch.input.rows; ++row) {
    const double* const of_row =
        readout.data() + row * batch.input.time * readout.cols();
    result.readouts.insert(result.readouts.end(), of_row,
                           of_row + batch.input.lengths[row] * readout.cols());
  }
  const Var<double> sums[] = {model.head().Loss(forward, readout, batch.target,
                                                /*label_smoothing=*/0.1)};
  forward.Backward(sums, {1.0});
  result.gradients.assign(gradients.values().begin(), gradients.values().end());
  result.steps = absl::StartsWith(recorder.seen()[0].site, "step[0]/");
  EXPECT_EQ(std::ssize(recorder.seen()), result.steps ? batch.input.time : 1);
  return result;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b,
                const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], 1e-10 * (1 + std::abs(b[i]))) << what << ' ' << i;
  }
}

// Compares a decoder that reads all ids at once with a decoder that reads them
// one by one. The inputs are a batch with padding and single examples.
void ExpectThatStepsAgree(const EncoderDecoderConfig& config) {
  EncoderDecoderConfig steps = config;
  // A decoder with scheduled sampling reads ids one by one. With probability 0,
  // it replaces no id.
  steps.mutable_decoder()->mutable_scheduled_sampling()->set_probability(0);
  for (const bool with_lengths : {false, true}) {
    for (const std::vector<int64_t>& examples :
         {std::vector<int64_t>{0, 1, 2}, {1}, {2}}) {
      const std::string what =
          absl::StrCat(config.ShortDebugString(), " of ", examples.size(),
                       with_lengths ? " with lengths" : "");
      const Result at_once = Read(config, examples, with_lengths);
      const Result one_by_one = Read(steps, examples, with_lengths);
      EXPECT_FALSE(at_once.steps) << what;
      EXPECT_TRUE(one_by_one.steps) << what;
      ExpectNear(at_once.readouts, one_by_one.readouts, what + ": readout");
      ExpectNear(at_once.gradients, one_by_one.gradients, what + ": gradient");
    }
  }
}

// Tests every type of cell, with one layer and with two layers.
class RecurrentDecoderTest : public ::testing::TestWithParam<const char*> {
 protected:
  static EncoderDecoderConfig Model(const std::string& decoder) {
    return Parse<EncoderDecoderConfig>(
        absl::StrCat("encoder { embedding: 3 hidden: 4 ", GetParam(),
                     " } decoder { embedding: 2 hidden: 4 ", GetParam(), " ",
                     decoder, " }")
            .c_str());
  }
};

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentDecoderTest,
                         ::testing::Values("", "reset_gate: RESET_BEFORE",
                                           "cell: LSTM", "layers: 2",
                                           "reset_gate: RESET_BEFORE layers: 2",
                                           "cell: LSTM layers: 2"));

TEST_P(RecurrentDecoderTest, OneAttentionEqualsTheAttentionOfEachStep) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  int of_history = 0;
  for (const char* readout : {"ATTENTIONAL", "STATE_CONTEXT_EMBEDDING"}) {
    const auto* const scores =
        Attention::descriptor()->FindOneofByName("score");
    for (int i = 0; i < scores->field_count(); ++i) {
      EncoderDecoderConfig config =
          Model(absl::StrCat("query: CURRENT_STATE readout: ", readout));
      Attention& attention = *config.mutable_attention();
      Attention::GetReflection()->MutableMessage(&attention, scores->field(i));
      if (attention.has_outside()) continue;
      if (attention.has_formula()) {
        attention.mutable_formula()->set_score("v . tanh(W q + U k) - i * j");
      }
      if (scorers.Find(attention)->uses_history) {
        EXPECT_TRUE(Read(config, {0}, /*with_lengths=*/false).steps);
        ++of_history;
        continue;
      }
      ExpectThatStepsAgree(config);
    }
  }
  EXPECT_EQ(of_history, 2 * 2);
}

TEST_P(RecurrentDecoderTest, OneAttentionEqualsStepsForAllPartsOfAttention) {
  for (const char* attention :
       {"additive {} normalizer { sparsemax {} }", "dot {} window: 2",
        "dot {} position_encoding { rotary {} }",
        "cosine {} position_encoding { alibi {} }",
        "concat {} normalizer { sigmoid {} } block: 2"}) {
    EncoderDecoderConfig config =
        Model("query: CURRENT_STATE readout: ATTENTIONAL");
    *config.mutable_attention() = Parse<Attention>(attention);
    ExpectThatStepsAgree(config);
  }
}

constexpr const char* kFixedContexts[] = {
    "", "readout: ATTENTIONAL", "readout: STATE_CONTEXT_EMBEDDING",
    "query: CURRENT_STATE readout: ATTENTIONAL",
    "query: CURRENT_STATE readout: STATE_CONTEXT_EMBEDDING"};

TEST_P(RecurrentDecoderTest, AFixedContextEqualsTheContextOfEachStep) {
  for (const char* decoder : kFixedContexts) {
    ExpectThatStepsAgree(Model(absl::StrCat("context: LAST_STATE ", decoder)));
  }
  ExpectThatStepsAgree(Model("context: NO_CONTEXT"));
}

// A source of one word has one state. The context LAST_STATE must therefore
// equal the context of an average attention.
TEST_P(RecurrentDecoderTest, AFixedContextEntersLikeAnAttentionContext) {
  const std::vector<EncodedPair> pairs = {{{8}, {5, 5, 6, 4, 3}},
                                          {{4}, {4, 7, 3}}};
  for (const char* decoder : kFixedContexts) {
    const auto fixed = Model(absl::StrCat("context: LAST_STATE ", decoder));
    EncoderDecoderConfig attends = Model(decoder);
    attends.mutable_attention()->mutable_average();
    const Result a = Read(fixed, {0, 1}, /*with_lengths=*/true, pairs);
    const Result b = Read(attends, {0, 1}, /*with_lengths=*/true, pairs);
    ExpectNear(a.readouts, b.readouts, absl::StrCat(decoder, ": readout"));
    ExpectNear(a.gradients, b.gradients, absl::StrCat(decoder, ": gradient"));
  }
}

TEST(FeedingBackTest, IsReadOneByOne) {
  const auto steps = [](const char* attention, const std::string& decoder) {
    return Read(Parse<EncoderDecoderConfig>(
                    absl::StrCat(
                        "encoder { embedding: 3 hidden: 4 } ", attention,
                        " decoder { embedding: 2 hidden: 4 ", decoder, " }")
                        .c_str()),
                {0, 1}, /*with_lengths=*/true)
        .steps;
  };
  const std::string luong = "query: CURRENT_STATE readout: ATTENTIONAL ";
  EXPECT_FALSE(steps("attention { dot {} }", luong));
  EXPECT_TRUE(steps("attention { dot {} }", luong + "input_feeding: true"));
  EXPECT_TRUE(steps("attention { dot {} }", luong + "scheduled_sampling {}"));
  EXPECT_TRUE(steps("attention { coverage {} }", luong));
  EXPECT_TRUE(steps("attention { dot {} }", ""));
  EXPECT_FALSE(steps("", "context: LAST_STATE"));
  EXPECT_TRUE(steps("",
                    "context: LAST_STATE readout: ATTENTIONAL "
                    "input_feeding: true"));
  EXPECT_TRUE(steps("", "context: NO_CONTEXT scheduled_sampling {}"));
}

}  // namespace
}  // namespace regard
