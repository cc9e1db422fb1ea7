#include "attention/selections/key_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/tape_state.h"
#include "attention/key_ranges.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::pair<int, int>> RangesOf(const KeyRanges& ranges, int64_t head,
                                          int64_t query) {
  std::vector<std::pair<int, int>> of_query;
  for (const KeyRange& range : ranges(0, head, query)) {
    of_query.emplace_back(range.begin, range.end);
  }
  return of_query;
}

// One head of width 1 with 7 keys in blocks of 2. The means of the blocks are
// 2, 5, -1 and 3.
ScoreInputs<float> Worked(Tape<float>& tape) {
  ScoreInputs<float> in;
  in.keys = tape.Input({1, 1, 7, 1}, {1, 3, 6, 4, -4, 2, 3});
  in.queries = tape.Input({1, 1, 2, 1}, {1, -1});
  return in;
}

constexpr BlockChoiceRule kTwoOfTwo = {.size = 2, .chosen = 2};

TEST(KeyBlocksTest, HaveTheLargestProductsWithTheMeans) {
  Tape<float> tape;
  const KeyRanges ranges = ChooseBlocks(tape, Worked(tape), kTwoOfTwo);
  EXPECT_THAT(RangesOf(ranges, 0, 0),
              ElementsAre(std::pair(2, 4), std::pair(6, 7)));
  EXPECT_THAT(RangesOf(ranges, 0, 1),
              ElementsAre(std::pair(0, 2), std::pair(4, 6)));
}

// One of the two chosen blocks must be the query's own block. The causal mask
// hides later blocks.
TEST(KeyBlocksTest, ACausalQuerySelectsItsOwnBlock) {
  Tape<float> tape;
  ScoreInputs<float> in = Worked(tape);
  in.mask.causal = true;
  in.positions.first_query = 4;
  const KeyRanges ranges = ChooseBlocks(tape, in, kTwoOfTwo);
  EXPECT_THAT(RangesOf(ranges, 0, 0), ElementsAre(std::pair(2, 7)));
  EXPECT_THAT(RangesOf(ranges, 0, 1),
              ElementsAre(std::pair(0, 2), std::pair(4, 7)));
}

// After a call with five positions, the state must have the means 2 and 5.
// After a call with two more positions, it must also have the mean -1. In the
// second call, the keys of complete blocks are NaN and must not be read.
TEST(KeyBlocksTest, AStepReadsNoKeysOfCompleteBlocks) {
  StateSlotNames slots;
  BlockChoiceRule choice = kTwoOfTwo;
  choice.means_slot = slots.Add("means");
  Tape<float> tape;
  TapeLayerState<float> state(slots);
  ScoreInputs<float> in;
  in.mask.causal = true;
  in.state = &state;
  in.queries = tape.Input({1, 1, 5, 1}, {1, 1, 1, 1, 1});
  in.keys = tape.Input({1, 1, 5, 1}, {1, 3, 6, 4, -4});
  EXPECT_THAT(RangesOf(ChooseBlocks(tape, in, choice), 0, 4),
              ElementsAre(std::pair(2, 5)));
  EXPECT_THAT(state.RowValue(choice.means_slot).span(), ElementsAre(2, 5));
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  in.positions.first_query = 5;
  in.queries = tape.Input({1, 1, 2, 1}, {-1, 1});
  in.keys = tape.Input({1, 1, 7, 1}, {kNaN, kNaN, kNaN, kNaN, -4, 2, 3});
  const KeyRanges ranges = ChooseBlocks(tape, in, choice);
  // The second range includes the last key, which the causal mask excludes
  // anyway.
  EXPECT_THAT(RangesOf(ranges, 0, 0),
              ElementsAre(std::pair(0, 2), std::pair(4, 7)));
  EXPECT_THAT(RangesOf(ranges, 0, 1),
              ElementsAre(std::pair(2, 4), std::pair(6, 7)));
  EXPECT_THAT(state.RowValue(choice.means_slot).span(),
              ElementsAre(2, 5, -1, 0));
  // This step completes no block, so the state must keep its array.
  const Var<float> before = state.RowValue(choice.means_slot);
  in.positions.first_query = 6;
  in.queries = tape.Input({1, 1, 1, 1}, {1});
  ChooseBlocks(tape, in, choice);
  EXPECT_EQ(state.RowValue(choice.means_slot).data(), before.data());
}

TEST(KeyBlocksTest, BeginAtMultiplesOfTheirSizeInPositions) {
  Tape<float> tape;
  ScoreInputs<float> in = Worked(tape);
  in.positions.first_key = 3;  // blocks of 1, 2, 2 and 2 keys
  const KeyRanges ranges = ChooseBlocks(tape, in, kTwoOfTwo);
  // The means of the blocks are 1, 4.5, 0 and 2.5.
  EXPECT_THAT(RangesOf(ranges, 0, 0),
              ElementsAre(std::pair(1, 3), std::pair(5, 7)));
}

// The mean of the second block must be 6, its only unmasked key. The mean of
// both keys is 5.
TEST(KeyBlocksTest, ReadOnlyVisibleKeys) {
  Tape<float> tape;
  ScoreInputs<float> in = Worked(tape);
  const std::vector<int32_t> lengths = {3};
  in.mask.key_lengths = lengths;
  for (int64_t key = 3; key < 7; ++key) {
    in.keys.data()[key] = std::numeric_limits<float>::quiet_NaN();
  }
  const KeyRanges ranges = ChooseBlocks(tape, in, {.size = 2, .chosen = 1});
  EXPECT_THAT(RangesOf(ranges, 0, 0), ElementsAre(std::pair(2, 7)));
  EXPECT_THAT(RangesOf(ranges, 0, 1),
              ElementsAre(std::pair(0, 2), std::pair(4, 7)));
}

TEST(KeyBlocksTest, BlocksWithNaNAreChosenLast) {
  Tape<float> tape;
  ScoreInputs<float> in = Worked(tape);
  in.keys.data()[2] = std::numeric_limits<float>::quiet_NaN();
  const auto first = [&](int64_t chosen) {
    return RangesOf(ChooseBlocks(tape, in, {.size = 2, .chosen = chosen}), 0,
                    0);
  };
  EXPECT_THAT(first(3), ElementsAre(std::pair(0, 2), std::pair(4, 7)));
  EXPECT_THAT(first(4), ElementsAre(std::pair(0, 7)));
}

// Two heads of width 1 share a key head. Each block must be ranked by the sum
// of the softmax weights of both heads. Large inner products of one head then
// do not outweigh the other head.
TEST(KeyBlocksTest, HeadsThatShareKeysSelectByTheSumOfSoftmax) {
  Tape<float> tape;
  ScoreInputs<float> in;
  in.keys = tape.Input({1, 1, 6, 1}, {1, 1, 0, 0, -1, -1});
  in.queries = tape.Input({1, 2, 1, 1}, {0.5, -10});
  const BlockChoiceRule together = {
      .size = 2, .chosen = 1, .heads_choose_together = true};
  // The softmax weights of the first head are .507, .307 and .186. The second
  // head gives weight 1 to the last block.
  for (int64_t head = 0; head < 2; ++head) {
    EXPECT_THAT(RangesOf(ChooseBlocks(tape, in, together), head, 0),
                ElementsAre(std::pair(4, 6)));
  }
  in.queries.data()[0] = 10;
  in.queries.data()[1] = -0.5;
  EXPECT_THAT(RangesOf(ChooseBlocks(tape, in, together), 1, 0),
              ElementsAre(std::pair(0, 2)));
}

TEST(KeyBlocksTest, IncludeInitialAndLocalBlocks) {
  Tape<float> tape;
  ScoreInputs<float> in;
  in.keys = tape.Full({1, 1, 12, 1}, 1);
  for (int64_t key = 6; key < 8; ++key) in.keys.data()[key] = 2;
  in.queries = tape.Full({1, 1, 1, 1}, 1);
  in.mask.causal = true;
  in.positions.first_query = 11;
  const auto ranges = [&](int64_t chosen) {
    return RangesOf(ChooseBlocks(tape, in,
                                 {.size = 2,
                                  .chosen = chosen,
                                  .initial = 1,
                                  .local = 2,
                                  .heads_choose_together = true}),
                    0, 0);
  };
  EXPECT_THAT(ranges(3), ElementsAre(std::pair(0, 2), std::pair(8, 12)));
  EXPECT_THAT(ranges(4), ElementsAre(std::pair(0, 2), std::pair(6, 12)));
}

// Returns the problems of `config`, one per line.
std::string ProblemsOf(const std::string& config, const ScoreWidths& widths) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention attention;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(config, &attention));
  ConfigProblems problems;
  scorers.Validate(attention, widths, problems);
  std::string text;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    text += problem.path + ": " + problem.message + "\n";
  }
  return text;
}

TEST(KeyBlocksTest, NeedKeysThatAreComparedWithQueries) {
  const ScoreWidths equal = {.heads = 2, .query = 4, .key = 4};
  const std::string moba = "selection { moba {} } ";
  EXPECT_THAT(ProblemsOf("bilinear {} " + moba, equal), IsEmpty());
  EXPECT_THAT(ProblemsOf("additive {} " + moba, equal),
              HasSubstr("use a score such as scaled_dot"));
  EXPECT_THAT(ProblemsOf("bilinear {} " + moba, {.query = 4, .key = 3}),
              HasSubstr("the query has 4, the key 3"));
  EXPECT_THAT(ProblemsOf("dot {} selection { moba { top_k: 0 } }", equal),
              HasSubstr("top_k"));
  EXPECT_THAT(ProblemsOf("dot {} selection { nsa_blocks { top_n: 2 } }", equal),
              HasSubstr("top_n: must be at least initial_blocks + "
                        "local_blocks (3)"));
}

}  // namespace
}  // namespace regard
