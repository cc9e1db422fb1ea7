// Rows of a state that outlive what the tape forgets.
#include "seq2seq/kept_state.h"

#include <cstdint>
#include <vector>

#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// The state of two sources with two rows each, five keys.
DecoderState<float> MakeState(Tape<float>& tape) {
  DecoderState<float> state;
  state.recurrent[0][0] = tape.Constant({4, 1}, {1, 2, 3, 4});
  state.recurrent[1][0] =
      tape.Constant({4, 2}, {10, 11, 20, 21, 30, 31, 40, 41});
  state.recurrent[1][1] = tape.Constant({4, 1}, {5, 6, 7, 8});
  state.cumulative_weights =
      tape.Constant({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return state;
}

TEST(KeptStateTest, HoldsTheRowsAskedForInTheirOrder) {
  Tape<float> tape;
  Arena arena;
  const DecoderState<float> state = MakeState(tape);
  KeptState<float> kept(state, 6, arena);
  kept.Gather(state, {3, 0, 0});
  const DecoderState<float> view = kept.View(tape, 3);
  EXPECT_EQ(view.recurrent[0][0].shape(), Shape({3, 1}));
  EXPECT_THAT(view.recurrent[0][0].span(), ElementsAre(4, 1, 1));
  EXPECT_THAT(view.recurrent[1][0].span(), ElementsAre(40, 41, 10, 11, 10, 11));
  EXPECT_THAT(view.recurrent[1][1].span(), ElementsAre(8, 5, 5));
  EXPECT_EQ(view.cumulative_weights.shape(), Shape({3, 1, 1, 3}));
  EXPECT_THAT(view.cumulative_weights.span(),
              ElementsAre(10, 11, 12, 1, 2, 3, 1, 2, 3));
  EXPECT_FALSE(view.recurrent[0][1].has_value());
  EXPECT_FALSE(view.feed.has_value());
  EXPECT_FALSE(view.previous_weights.has_value());
}

TEST(KeptStateTest, SourcesMayHaveMoreRowsThanBefore) {
  Tape<float> tape;
  Arena arena;
  const DecoderState<float> state = MakeState(tape);
  KeptState<float> kept(state, 6, arena);
  kept.Gather(state, {0, 1, 1, 2, 3, 2});
  const DecoderState<float> view = kept.View(tape, 2);
  EXPECT_EQ(view.cumulative_weights.shape(), Shape({2, 1, 3, 3}));
  EXPECT_THAT(view.recurrent[0][0].span(), ElementsAre(1, 2, 2, 3, 4, 3));
}

TEST(KeptStateTest, OutlivesWhatTheTapeForgets) {
  Tape<float> tape;
  Arena arena;
  const Tape<float>::Mark mark = tape.Save();
  KeptState<float> kept(MakeState(tape), 4, arena);
  kept.Gather(MakeState(tape), {1, 2});
  tape.Rewind(mark);
  tape.Full({100}, -1);
  EXPECT_THAT(kept.View(tape, 2).recurrent[0][0].span(), ElementsAre(2, 3));
}

TEST(KeptStateDeathTest, RefusesMoreRowsThanItHasRoomFor) {
  Tape<float> tape;
  Arena arena;
  const DecoderState<float> state = MakeState(tape);
  KeptState<float> kept(state, 2, arena);
  EXPECT_DEATH(kept.Gather(state, {0, 1, 2}), "3 rows");
}

}  // namespace
}  // namespace regard
