// Tests the number of parameters of models with and without attention.
#include <cstdint>

#include "gtest/gtest.h"
#include "seq2seq/testing/test_model.h"

namespace regard {
namespace {

int64_t CountOf(const RecurrentConfigTexts& configs) {
  return TestModel<float>(configs).store().num_elements();
}

TEST(RecurrentModelSizeTest, CountsADecoderWithTheContextInItsRecurrence) {
  // Parameter counts:
  //   embeddings  9 * 3 and 8 * 2
  //   encoder     12 * 3 + 12 * 4 + 2 * 12
  //   score       5 * (4 + 4 + 1)
  //   decoder     12 * (4 + 2) + 12 * 4 + 2 * 12
  //   output      8 * 4 + 8
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", "additive { width: 5 }",
                     "embedding: 2 hidden: 4"}),
            27 + 16 + 108 + 45 + 144 + 40);
}

TEST(RecurrentModelSizeTest, ResettingBeforeHasOneBiasAGate) {
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4 reset_gate: RESET_BEFORE",
                     "additive { width: 5 }",
                     "embedding: 2 hidden: 4 reset_gate: RESET_BEFORE"}),
            27 + 16 + 96 + 45 + 132 + 40);
}

TEST(RecurrentModelSizeTest, CountsABidirectionalEncoderAndAWideReadout) {
  // Parameter counts:
  //   encoder  2 * (16 * 3 + 16 * 4 + 2 * 16)
  //   bridge   5 * 8 + 5
  //   score    2 * (5 + 8 + 1)
  //   decoder  20 * (8 + 2) + 20 * 5 + 2 * 20
  //   output   8 * (5 + 8 + 2) + 8
  EXPECT_EQ(
      CountOf({"embedding: 3 hidden: 4 cell: LSTM bidirectional: true",
               "additive { width: 2 }",
               "embedding: 2 hidden: 5 cell: LSTM initial_state: PROJECTED "
               "readout: STATE_CONTEXT_EMBEDDING"}),
      27 + 16 + 288 + 45 + 28 + 340 + 128);
}

TEST(RecurrentModelSizeTest, CountsInputFeeding) {
  // Parameter counts:
  //   decoder             12 * (2 + 4) + 12 * 4 + 2 * 12
  //   attentional vector  4 * (4 + 4)
  //
  // The score has no parameters.
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", "dot {}",
                     "embedding: 2 hidden: 4 query: CURRENT_STATE "
                     "readout: ATTENTIONAL input_feeding: true"}),
            27 + 16 + 108 + 144 + 32 + 40);
}

TEST(RecurrentModelSizeTest, CountsTheBaselines) {
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", nullptr,
                     "embedding: 2 hidden: 4 context: LAST_STATE"}),
            27 + 16 + 108 + 144 + 40);
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", nullptr,
                     "embedding: 2 hidden: 4 context: NO_CONTEXT"}),
            27 + 16 + 108 + 96 + 40);
}

}  // namespace
}  // namespace regard
