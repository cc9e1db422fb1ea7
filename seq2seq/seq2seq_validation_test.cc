// Tests the validation of encoder and decoder configs.
#include "seq2seq/seq2seq_validation.h"

#include <string>
#include <utility>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Returns "path: message" of the first problem of a decoder without attention.
std::string ProblemOf(const std::string& decoder_text) {
  EncoderDecoderConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      decoder_text, config.mutable_decoder()));
  ConfigProblems problems;
  ValidateEncoderDecoder(config, AttentionRegistry(), problems);
  if (problems.ok()) return "";
  return problems.problems()[0].path + ": " + problems.problems()[0].message;
}

TEST(Seq2SeqValidationTest, AContextThatNothingReadsIsAProblem) {
  EXPECT_THAT(
      ProblemOf("context: LAST_STATE query: CURRENT_STATE "
                "readout: STATE"),
      HasSubstr("decoder.readout: must be ATTENTIONAL or "
                "STATE_CONTEXT_EMBEDDING when `query` is CURRENT_STATE"));
}

TEST(Seq2SeqValidationTest, AFixedContextEntersTheRecurrenceOrTheReadout) {
  EXPECT_EQ(ProblemOf("context: LAST_STATE"), "");
  EXPECT_EQ(ProblemOf("context: LAST_STATE query: CURRENT_STATE "
                      "readout: ATTENTIONAL"),
            "");
  EXPECT_EQ(ProblemOf("context: NO_CONTEXT query: CURRENT_STATE"), "");
}

TEST(Seq2SeqValidationTest, AttentionNeedsAScore) {
  EXPECT_THAT(ProblemOf(""), HasSubstr("attention: must set a score, such as"));
}

// Returns "path: message" of each problem of a whole model.
std::vector<std::string> ProblemsOfModel(const std::string& text) {
  EncoderDecoderConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ConfigProblems problems;
  ValidateEncoderDecoder(config, scorers, problems);
  std::vector<std::string> found;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    found.push_back(problem.path + ": " + problem.message);
  }
  for (const std::string& note : problems.notes()) {
    found.push_back("note: " + note);
  }
  return found;
}

TEST(ValidateEncoderDecoderTest, EachPartIsRecurrentOrATransformer) {
  EXPECT_THAT(ProblemsOfModel("transformer {}"), IsEmpty());
  EXPECT_THAT(ProblemsOfModel("encoder {} transformer_decoder {}"), IsEmpty());
  EXPECT_THAT(ProblemsOfModel("transformer_encoder {} decoder { "
                              "initial_state: PROJECTED } attention { "
                              "additive {} }"),
              IsEmpty());
  EXPECT_THAT(ProblemsOfModel("decoder { context: LAST_STATE }"), IsEmpty());
  EXPECT_THAT(ProblemsOfModel("encoder {} transformer {}"), IsEmpty());
  EXPECT_THAT(ProblemsOfModel("encoder {} decoder {} transformer {}"),
              ElementsAre(StartsWith(
                  "decoder: cannot be set together with `transformer`, ")));
  EXPECT_THAT(
      ProblemsOfModel("encoder {} decoder {} transformer_decoder {}"),
      ElementsAre(StartsWith(
          "decoder: cannot be set together with `transformer_decoder`")));
  EXPECT_THAT(
      ProblemsOfModel("encoder {} transformer {} "
                      "transformer_encoder {}"),
      ElementsAre(StartsWith(
          "encoder: cannot be set together with `transformer_encoder`")));
  EXPECT_THAT(ProblemsOfModel("transformer {} attention { additive {} }"),
              ElementsAre(StartsWith("attention: ")));
}

TEST(ValidateEncoderDecoderTest, RangesOfScheduledSamplingAreCheckedOnce) {
  EXPECT_THAT(ProblemsOfModel("decoder { scheduled_sampling { probability: 1.5 "
                              "} } attention { additive {} }"),
              ElementsAre("decoder.scheduled_sampling.probability: must be in "
                          "[0, 1], got 1.5"));
}

TEST(ValidateEncoderDecoderTest, ADecoderMayNotSeeTheSource) {
  EXPECT_THAT(
      ProblemsOfModel("decoder { context: NO_CONTEXT initial_state: ZERO }"),
      ElementsAre("note: decoder.initial_state: ZERO with context: NO_CONTEXT "
                  "hides the source from the decoder"));
}

TEST(ValidateEncoderDecoderTest, ATransformerHasNoFinalState) {
  EXPECT_THAT(
      ProblemsOfModel("transformer_encoder {} decoder { context: "
                      "LAST_STATE }"),
      ElementsAre(StartsWith(
          "decoder.initial_state: FINAL_STATE requires a recurrent encoder")));
}

TEST(ValidateEncoderDecoderTest, AFinalStateRequiresTheCellOfTheDecoder) {
  EXPECT_THAT(
      ProblemsOfModel("encoder { hidden: 8 } decoder { hidden: 8 cell: LSTM "
                      "context: LAST_STATE }"),
      ElementsAre(HasSubstr("the encoder has 1 GRU layers of width 8, the "
                            "decoder 1 LSTM layers of width 8. PROJECTED")));
}

TEST(ValidateEncoderDecoderTest, ReportsEveryProblemOfARecurrentStack) {
  const std::string decoder = "decoder { context: NO_CONTEXT ";
  EXPECT_THAT(ProblemsOfModel("encoder { layers: 9 dropout: 1 initialization: "
                              "NORMAL } " +
                              decoder + "initial_state: PROJECTED }"),
              ElementsAre(StartsWith("encoder.layers: "),
                          StartsWith("encoder.dropout: "),
                          "encoder.initialization: must be PYTORCH or "
                          "XAVIER_UNIFORM"));
  // The default RESET_AFTER must give no note, because a resolved config
  // contains defaults.
  for (const auto& [gate, expected] :
       {std::pair("RESET_BEFORE",
                  "note: decoder.reset_gate: has no effect: an LSTM has no "
                  "reset gate"),
        std::pair("RESET_AFTER", "")}) {
    const std::vector<std::string> found =
        ProblemsOfModel(decoder + "initial_state: PROJECTED cell: LSTM " +
                        "reset_gate: " + gate + " }");
    EXPECT_EQ(found.empty() ? "" : found[0], expected) << gate;
  }
}

TEST(ValidateEncoderDecoderTest, APartIsMergedIntoBoth) {
  const std::string attention =
      "attention { attention { formula { score: '(q . k) * t / sqrt(dk)' "
      "parameter { name: 't' initial: 1 } } } } ";
  EXPECT_THAT(
      ProblemsOfModel("transformer { layers: 1 " + attention +
                      "} transformer_decoder { " + attention + "}"),
      ElementsAre("note: transformer.attention.attention.formula.score: "
                  "parameters of the formula: t (8)",
                  "note: transformer_decoder.attention.attention.formula."
                  "score: parameters of the formula: t (8)",
                  "note: transformer_decoder.cross_attention.attention."
                  "formula.score: parameters of the formula: t (8)"));
  const std::string both = "transformer { feed_forward { hidden: 7 } } ";
  EXPECT_THAT(ProblemsOfModel(
                  both + "transformer_decoder { feed_forward { none {} } }"),
              IsEmpty());
  EXPECT_THAT(
      ProblemsOfModel(both + "transformer_decoder { feed_forward { none {} "
                             "hidden: 9 } }"),
      ElementsAre(StartsWith("note: transformer_decoder.feed_forward.none: ")));
}

TEST(ValidateEncoderDecoderTest, AnEncoderHasNoPartsOfADecoder) {
  const std::string fields =
      "cross_attention {} tied_embeddings: TARGET_OUTPUT output_transform: "
      "true output_bias: false ";
  EXPECT_THAT(ProblemsOfModel("transformer { " + fields +
                              "} transformer_encoder { layers: 2 }"),
              IsEmpty());
  EXPECT_THAT(
      ProblemsOfModel("transformer {} transformer_encoder { " + fields + "}"),
      ElementsAre(StartsWith("note: transformer_encoder.cross_attention: "),
                  StartsWith("note: transformer_encoder.tied_embeddings: "),
                  StartsWith("note: transformer_encoder.output_transform: "),
                  StartsWith("note: transformer_encoder.output_bias: ")));
}

TEST(ValidateEncoderDecoderTest, AnEncoderPatternHasNoPartsOfADecoder) {
  const std::string layers =
      "layers: 2 pattern {} pattern { cross_attention { head_width: -4 } } ";
  EXPECT_THAT(
      ProblemsOfModel("transformer {} transformer_encoder { " + layers + "}"),
      ElementsAre(StartsWith(
          "note: transformer_encoder.pattern[1].cross_attention: ")));
}

TEST(ValidateEncoderDecoderTest, PointsIntoTheTransformer) {
  EXPECT_THAT(ProblemsOfModel("transformer { attention { heads: 7 } }"),
              ElementsAre(StartsWith("transformer.attention.heads: ")));
  EXPECT_THAT(ProblemsOfModel(
                  "transformer { attention { attention { coverage {} } } }"),
              ElementsAre(StartsWith("transformer.attention.attention: ")));
  EXPECT_THAT(
      ProblemsOfModel("transformer {} transformer_decoder { dropout: 2 }"),
      ElementsAre(StartsWith("transformer_decoder.dropout: ")));
}

TEST(ValidateEncoderDecoderTest,
     OneWeightForAllNeedsTwoTransformersOfOneWidth) {
  EXPECT_THAT(ProblemsOfModel("encoder {} transformer_decoder { "
                              "tied_embeddings: SOURCE_TARGET_OUTPUT }"),
              ElementsAre(StartsWith("transformer_decoder.tied_embeddings: ")));
  EXPECT_THAT(
      ProblemsOfModel("transformer { tied_embeddings: SOURCE_TARGET_OUTPUT } "
                      "transformer_encoder { width: 64 }"),
      ElementsAre(HasSubstr(
          "requires an encoder and a decoder of the same width; got 64")));
}

TEST(ValidateEncoderDecoderTest, AnAlignmentRequiresAnExistingLayerAndHead) {
  EXPECT_THAT(ProblemsOfModel("transformer { layers: 2 attention { heads: 4 } "
                              "} alignment { layer: 1 head: 3 }"),
              IsEmpty());
  EXPECT_THAT(ProblemsOfModel("transformer { layers: 2 } transformer_decoder { "
                              "layers: 3 } alignment { layer: 2 }"),
              IsEmpty());
  EXPECT_THAT(
      ProblemsOfModel("transformer { layers: 2 } alignment { layer: 2 }"),
      ElementsAre(StartsWith("alignment.layer: ")));
  EXPECT_THAT(
      ProblemsOfModel("transformer { layers: 2 width: 8 attention { heads: 4 } "
                      "pattern {} pattern { attention { heads: 2 } } } "
                      "alignment { head: 2 }"),
      ElementsAre(StartsWith("alignment.head: ")));
  // The cross-attention determines the range of `head`.
  EXPECT_THAT(ProblemsOfModel("transformer { cross_attention { heads: 1 } } "
                              "alignment { head: 1 }"),
              ElementsAre(StartsWith("alignment.head: ")));
  EXPECT_THAT(ProblemsOfModel("transformer { attention { heads: 1 } "
                              "cross_attention { heads: 2 } } "
                              "alignment { head: 1 }"),
              IsEmpty());
  EXPECT_THAT(ProblemsOfModel("transformer { layers: 2 } alignment { head: -2 "
                              "}"),
              ElementsAre(StartsWith("alignment.head: ")));
  EXPECT_THAT(ProblemsOfModel("decoder { context: LAST_STATE } alignment {}"),
              ElementsAre(StartsWith("note: alignment: has no effect: a ")));
}

TEST(ValidateEncoderDecoderTest, AnAlignmentRequiresAValidDecoder) {
  EXPECT_THAT(ProblemsOfModel("transformer { layers: 0 } alignment {}"),
              ElementsAre(StartsWith("transformer.layers: ")));
  EXPECT_THAT(ProblemsOfModel("transformer { layers: 0 pattern {} pattern {} } "
                              "alignment {}"),
              ElementsAre(StartsWith("transformer.layers: "),
                          StartsWith("note: transformer.pattern: ")));
  EXPECT_THAT(ProblemsOfModel("encoder {} transformer_decoder { width: "
                              "2147483647 } alignment { layer: 99 }"),
              ElementsAre(StartsWith("transformer_decoder.width: ")));
}

TEST(AlignmentSelectsKeysTest, ReadsTheLayerOfTheAlignment) {
  const auto selects = [](const std::string& text) {
    EncoderDecoderConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    return AlignmentSelectsKeys(config, scorers);
  };
  const std::string moba = "attention { selection { moba {} } } ";
  EXPECT_FALSE(selects("attention { dot {} }"));
  EXPECT_TRUE(selects(moba));
  EXPECT_TRUE(selects("transformer { attention { " + moba + "} }"));
  EXPECT_FALSE(selects("transformer { attention { " + moba +
                       "} cross_attention { attention { selection { none {} } "
                       "} } }"));
  const std::string first =
      "transformer { layers: 2 pattern { cross_attention { " + moba +
      "} } pattern {} } ";
  EXPECT_FALSE(selects(first));
  EXPECT_TRUE(selects(first + "alignment { layer: 0 }"));
  EXPECT_TRUE(selects(first + "transformer_decoder { layers: 3 }"));
}

TEST(MemoryWidthTest, IsNotTruncatedIfTheConfigIsOutOfRange) {
  EncoderDecoderConfig config;
  config.mutable_encoder()->set_hidden(2147483647);
  config.mutable_encoder()->set_bidirectional(true);
  EXPECT_EQ(MemoryWidth(config), 4294967294);
}

TEST(TransformerOfTest, APatternOfAPartReplacesTheSharedPattern) {
  EncoderDecoderConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "transformer { width: 8 pattern {} pattern {} } transformer_encoder { "
      "layers: 3 pattern { feed_forward { hidden: 5 } } }",
      &config));
  const TransformerConfig encoder = TransformerOfEncoder(config);
  EXPECT_EQ(encoder.width(), 8);
  EXPECT_EQ(encoder.layers(), 3);
  EXPECT_EQ(encoder.pattern_size(), 1);
  EXPECT_EQ(TransformerOfDecoder(config).pattern_size(), 2);
}

}  // namespace
}  // namespace regard
