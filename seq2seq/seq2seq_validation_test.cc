// What of an encoder and a decoder does not fit together.
#include "seq2seq/seq2seq_validation.h"

#include <string>

#include "attention/attention.pb.h"
#include "attention/scorer_registry.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

// "path: message" of the first problem of a decoder without attention.
std::string ProblemOf(const std::string& decoder_text) {
  RecurrentDecoderConfig decoder;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(decoder_text, &decoder));
  ConfigProblems problems;
  ValidateSeq2Seq(RecurrentEncoderConfig(), decoder, /*attention=*/nullptr,
                  ScorerRegistry(), problems);
  if (problems.ok()) return "";
  return problems.problems()[0].path + ": " + problems.problems()[0].message;
}

TEST(Seq2SeqValidationTest, AContextThatNothingReadsIsAProblem) {
  EXPECT_THAT(ProblemOf("context: LAST_STATE query: CURRENT_STATE "
                        "readout: STATE"),
              HasSubstr("decoder.readout: with query: CURRENT_STATE the "
                        "context must be read out"));
}

TEST(Seq2SeqValidationTest, AFixedContextEntersTheRecurrenceOrTheReadout) {
  EXPECT_EQ(ProblemOf("context: LAST_STATE"), "");
  EXPECT_EQ(ProblemOf("context: LAST_STATE query: CURRENT_STATE "
                      "readout: ATTENTIONAL"),
            "");
  EXPECT_EQ(ProblemOf("context: NO_CONTEXT query: CURRENT_STATE"), "");
}

TEST(Seq2SeqValidationTest, AttentionNeedsAScore) {
  EXPECT_THAT(ProblemOf(""), HasSubstr("attention: the decoder attends, but no "
                                       "score is chosen"));
}

}  // namespace
}  // namespace regard
