// Tests all kinds of slots, and their values after the tape is rewound.
#include "seq2seq/decoder_state.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

enum Slot { kKeys, kValues, kHidden, kUnused, kCache, kNumSlots };

// Returns a state with three sources of one row. Keys and values share storage.
DecoderState<float> Begin(Tape<float>& tape,
                          absl::Span<const int32_t> lengths) {
  DecoderState<float> state(tape, /*sources=*/3, lengths, kNumSlots);
  const Var<float> keys = tape.Constant({3, 2, 1}, {1, 2, 3, 4, 5, 6});
  state.SetSourceValue(kKeys, keys);
  state.SetSourceValue(kValues, keys.Reshape({3, 2}));
  state.SetRowValue(kHidden, tape.Constant({3, 2}, {10, 11, 20, 21, 30, 31}));
  return state;
}

constexpr int32_t kLengths[] = {2, 1, 2};

// Returns the first `positions` positions of a growing slot [.., extent,
// width].
std::vector<float> Valid(Var<float> whole, int64_t positions) {
  const int64_t extent = whole.dim(-2);
  const int64_t width = whole.dim(-1);
  std::vector<float> valid;
  for (const float* row = whole.data(); row < whole.data() + whole.size();
       row += extent * width) {
    valid.insert(valid.end(), row, row + positions * width);
  }
  return valid;
}

TEST(DecoderStateTest, BeginsWithOneRowForEachSource) {
  Tape<float> tape;
  const DecoderState<float> state = Begin(tape, kLengths);
  EXPECT_EQ(state.sources(), 3);
  EXPECT_EQ(state.rows(), 3);
  EXPECT_EQ(state.position(), 0);
  EXPECT_FALSE(state[kUnused].has_value());
  EXPECT_THAT(state.lengths(), ElementsAre(2, 1, 2));
  EXPECT_EQ(state.known_rows(), nullptr);
}

TEST(DecoderStateTest, OwnsItsLengths) {
  Tape<float> tape;
  std::vector<int32_t> lengths = {2, 1, 2};
  const DecoderState<float> state = Begin(tape, lengths);
  lengths = {7, 7, 7};
  EXPECT_THAT(state.lengths(), ElementsAre(2, 1, 2));
}

TEST(DecoderStateTest, AppendJoinsPositionsAndPassesGradients) {
  Tape<double> tape;
  DecoderState<double> state(tape, /*sources=*/2, /*lengths=*/{},
                             /*num_slots=*/1);
  const std::vector<double> first = {1, 2};
  const std::vector<double> second = {3, 4, 5, 6};
  const Var<double> a = tape.Input({2, 1, 1}, first);
  const Var<double> b = tape.Input({2, 2, 1}, second);
  EXPECT_EQ(state.Append(0, a).shape(), Shape({2, 1, 1}));
  const Var<double> whole = state.Append(0, b);
  EXPECT_EQ(whole.shape(), Shape({2, 3, 1}));
  EXPECT_THAT(whole.span(), ElementsAre(1, 3, 4, 2, 5, 6));
  tape.Backward(Sum(whole));
  EXPECT_THAT(absl::MakeConstSpan(a.grad_data(), 2), ElementsAre(1, 1));
  EXPECT_THAT(absl::MakeConstSpan(b.grad_data(), 4), ElementsAre(1, 1, 1, 1));
}

TEST(DecoderStateTest, KeepsTheFirstSources) {
  Tape<float> tape;
  DecoderState<float> state = Begin(tape, kLengths);
  state.AdvancePosition(4);
  state.KeepFirstSources(2);
  EXPECT_EQ(state.sources(), 2);
  EXPECT_EQ(state.rows(), 2);
  EXPECT_EQ(state.position(), 4);
  EXPECT_THAT(state.lengths(), ElementsAre(2, 1));
  EXPECT_EQ(state[kKeys].shape(), Shape({2, 2, 1}));
  EXPECT_THAT(state[kValues].span(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(state[kHidden].span(), ElementsAre(10, 11, 20, 21));
  EXPECT_FALSE(state[kUnused].has_value());
  EXPECT_DEATH(state.KeepFirstSources(3), "3 of 2 sources");
  state.KeepFirstSources(0);
  EXPECT_EQ(state.rows(), 0);
  EXPECT_EQ(state[kKeys].shape(), Shape({0, 2, 1}));
}

TEST(DecoderStateDeathTest, RefusesOtherExtents) {
  Tape<float> tape;
  DecoderState<float> state = Begin(tape, {});
  EXPECT_DEATH(state.SetRowValue(kHidden, tape.Full({4, 2}, 0)), "\\[4, 2\\]");
  EXPECT_DEATH(state.SetSourceValue(kKeys, tape.Full({2, 2}, 0)), "3 sources");
  EXPECT_DEATH(Begin(tape, {1, 2}), "2 vs. 3");
}

TEST(DecoderStateStoreTest, EqualsTheCopiedState) {
  Tape<float> tape;
  Arena arena;
  const Tape<float>::Mark mark = tape.Save();
  DecoderStateStore<float> cache(Begin(tape, kLengths),
                                 {.rows = 6, .vocabulary = 10}, arena);
  tape.Rewind(mark);
  tape.Full({100}, -1);
  const DecoderState<float> view = cache.View(tape);
  EXPECT_EQ(view.rows(), 3);
  EXPECT_THAT(view[kKeys].span(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(view[kHidden].span(), ElementsAre(10, 11, 20, 21, 30, 31));
  EXPECT_THAT(view.lengths(), ElementsAre(2, 1, 2));
  EXPECT_FALSE(view[kUnused].has_value());
  EXPECT_FALSE(view[kCache].has_value());
  EXPECT_NE(view.known_rows(), nullptr);
  EXPECT_EQ(view[kKeys].data(), view[kValues].data());
}

TEST(DecoderStateStoreTest, GathersRowsOfEveryKind) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(Begin(tape, kLengths),
                                 {.rows = 4, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  state.Append(kCache, tape.Constant({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  state.AdvancePosition(1);
  // The last source replaces the first source. Each source gets two rows.
  cache.Gather(state, {2, 2, 1, 1}, 2);
  DecoderState<float> view = cache.View(tape);
  EXPECT_EQ(view.sources(), 2);
  EXPECT_EQ(view.rows_per_source(), 2);
  EXPECT_EQ(view.position(), 1);
  EXPECT_THAT(view.lengths(), ElementsAre(2, 1));
  EXPECT_EQ(view[kKeys].shape(), Shape({2, 2, 1}));
  EXPECT_THAT(view[kKeys].span(), ElementsAre(5, 6, 3, 4));
  EXPECT_THAT(view[kValues].span(), ElementsAre(5, 6, 3, 4));
  EXPECT_THAT(view[kHidden].span(),
              ElementsAre(30, 31, 30, 31, 20, 21, 20, 21));
  EXPECT_THAT(Valid(view[kCache], 1), ElementsAre(5, 6, 5, 6, 3, 4, 3, 4));
  // A second step changes the hidden state. Each row has its own history.
  view.SetRowValue(kHidden, tape.Constant({4, 1}, {1, 2, 3, 4}));
  view.Append(kCache, tape.Constant({4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  view.AdvancePosition(1);
  cache.Gather(view, {3, 2}, 2);
  const DecoderState<float> last = cache.View(tape);
  EXPECT_EQ(last.sources(), 1);
  EXPECT_EQ(last.position(), 2);
  EXPECT_THAT(last[kKeys].span(), ElementsAre(3, 4));
  EXPECT_THAT(last[kHidden].span(), ElementsAre(4, 3));
  EXPECT_THAT(Valid(last[kCache], 2), ElementsAre(3, 4, 6, 7, 3, 4, 4, 5));
}

// Latent attention without a rotary part has a source slot without elements.
// This slot must not share storage with another slot.
TEST(DecoderStateStoreTest, ASourceWithoutElementsSharesNothing) {
  Tape<float> tape;
  Arena arena;
  DecoderState<float> begin(tape, /*sources=*/3, {}, kNumSlots);
  begin.SetSourceValue(kKeys, tape.Constant({3, 1, 0}));
  begin.SetSourceValue(kValues, tape.Constant({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  DecoderStateStore<float> cache(begin, {.rows = 3, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  state.Append(kCache, tape.Constant({3, 1, 0}));
  state.AdvancePosition(1);
  cache.Gather(state, {1, 2}, 1);
  const DecoderState<float> view = cache.View(tape);
  EXPECT_EQ(view[kKeys].shape(), Shape({2, 1, 0}));
  EXPECT_THAT(view[kValues].span(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(view[kCache].dim(2), 0);
}

TEST(DecoderStateStoreTest, AnUnchangedSlotIsAlsoGathered) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(Begin(tape, {}), {.rows = 6, .vocabulary = 10},
                                 arena);
  const DecoderState<float> state = cache.View(tape);
  cache.Gather(state, {0, 0, 1, 1, 2, 2}, 2);
  const DecoderState<float> view = cache.View(tape);
  EXPECT_THAT(view[kHidden].span(),
              ElementsAre(10, 11, 10, 11, 20, 21, 20, 21, 30, 31, 30, 31));
  EXPECT_TRUE(view.lengths().empty());
}

// A decoder that reads its two previous states moves a value from one slot to
// another in each step.
TEST(DecoderStateStoreTest, AStepMayMoveTheValuesOfSlots) {
  Tape<float> tape;
  Arena arena;
  DecoderState<float> begin = Begin(tape, {});
  begin.SetRowValue(kUnused, tape.Constant({3, 2}, {1, 2, 3, 4, 5, 6}));
  DecoderStateStore<float> cache(begin, {.rows = 3, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  // The values are exchanged, so writing one of them first would overwrite the
  // other.
  const Var<float> hidden = state[kHidden];
  state.SetRowValue(kHidden, state[kUnused]);
  state.SetRowValue(kUnused, hidden);
  cache.Gather(state, {1, 2, 2}, 1);
  const DecoderState<float> view = cache.View(tape);
  EXPECT_THAT(view[kHidden].span(), ElementsAre(3, 4, 5, 6, 5, 6));
  EXPECT_THAT(view[kUnused].span(), ElementsAre(20, 21, 30, 31, 30, 31));
}

TEST(DecoderStateStoreTest, ARowMayBeWhatAStepAppended) {
  enum { kPositions, kRow };
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(DecoderState<float>(tape, 3, {}, 2),
                                 {.rows = 3, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  const Var<float> whole =
      state.Append(kPositions, tape.Constant({3, 1, 1}, {1, 2, 3}));
  state.SetRowValue(kRow, whole);
  cache.Gather(state, {1, 1, 0}, 1);
  const DecoderState<float> view = cache.View(tape);
  EXPECT_THAT(Valid(view[kPositions], 1), ElementsAre(2, 2, 1));
  EXPECT_THAT(Valid(view[kRow], 1), ElementsAre(2, 2, 1));
}

TEST(DecoderStateStoreTest, GrowsPositionAfterPosition) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(DecoderState<float>(tape, 1, {}, kNumSlots),
                                 {.rows = 3, .vocabulary = 10, .positions = 50},
                                 arena);
  cache.Gather(cache.View(tape), {0, 0, 0}, 3);
  const Tape<float>::Mark mark = tape.Save();
  for (int step = 0; step < 50; ++step) {
    DecoderState<float> state = cache.View(tape);
    const auto now = static_cast<float>(step);
    state.Append(kCache, tape.Constant({3, 1, 1}, {now, 100 + now, 200 + now}));
    state.AdvancePosition(1);
    cache.Gather(state, {1, 0, 2}, 3);
    tape.Rewind(mark);
  }
  const DecoderState<float> view = cache.View(tape);
  ASSERT_EQ(view[kCache].shape(), Shape({3, 50, 1}));
  for (int step = 0; step < 50; ++step) {
    // Rows 0 and 1 are exchanged after each step.
    const int other = (50 - step) % 2 == 1 ? 100 : 0;
    EXPECT_EQ(view[kCache].data()[step], static_cast<float>(step + other));
    EXPECT_EQ(view[kCache].data()[100 + step], static_cast<float>(200 + step));
  }
}

// Takes random steps that repeat and drop rows, and drop sources. Two growing
// slots and a row slot must contain what each row has read. The first step
// reads several positions.
TEST(DecoderStateStoreTest, ContainsAllRowsAfterAnyReordering) {
  constexpr int64_t kHeads = 3;
  constexpr int64_t kWidth = 2;
  enum { kPlain, kInHeads, kLast };
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomStream random(seed, "beams");
    uint64_t draws = 0;
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(
          random.UniformIntAt(draws++, static_cast<uint64_t>(n)));
    };
    const int64_t max_beam = 1 + below(5);
    int64_t sources = 1 + below(4);
    int64_t beam = 1;
    Tape<float> tape;
    Arena arena;
    DecoderStateStore<float> cache(
        DecoderState<float>(tape, sources, /*lengths=*/{}, /*num_slots=*/3),
        {.rows = sources * max_beam, .vocabulary = 1}, arena);
    // The numbers that each row has read.
    std::vector<std::vector<float>> read(static_cast<size_t>(sources));
    const Tape<float>::Mark mark = tape.Save();
    float next = 1;
    for (int step = 0; step < 60 && sources > 0; ++step) {
      DecoderState<float> state = cache.View(tape);
      const int64_t rows = sources * beam;
      ASSERT_EQ(state.rows(), rows);
      const int64_t n = step == 0 ? 1 + below(20) : 1;
      const Var<float> plain = tape.Constant({rows, n, kWidth});
      const Var<float> in_heads = tape.Constant({rows, kHeads, n, kWidth});
      const Var<float> last = tape.Constant({rows, 1});
      for (int64_t row = 0; row < rows; ++row) {
        auto& history = read[static_cast<size_t>(row)];
        for (int64_t t = 0; t < n; ++t) {
          history.push_back(next++);
          for (int64_t i = 0; i < kWidth; ++i) {
            plain.data()[(row * n + t) * kWidth + i] = history.back();
            for (int64_t h = 0; h < kHeads; ++h) {
              in_heads.data()[((row * kHeads + h) * n + t) * kWidth + i] =
                  history.back() + static_cast<float>(h);
            }
          }
        }
        last.data()[row] = history.back();
      }
      const auto length = static_cast<int64_t>(read[0].size());
      const auto expect = [&](Var<float> whole, int64_t heads) {
        ASSERT_EQ(whole.dim(0), static_cast<int64_t>(read.size()));
        ASSERT_GE(whole.dim(-2), length);
        std::vector<float> want;
        for (const auto& history : read) {
          for (int64_t h = 0; h < heads; ++h) {
            for (const float x : history) {
              want.insert(want.end(), kWidth, x + static_cast<float>(h));
            }
          }
        }
        ASSERT_EQ(Valid(whole, length), want) << seed << ", step " << step;
        for (const float x : whole.span()) ASSERT_TRUE(std::isfinite(x));
      };
      expect(state.Append(kPlain, plain), 1);
      expect(state.Append(kInHeads, in_heads), kHeads);
      state.SetRowValue(kLast, last);
      state.AdvancePosition(n);
      // The last source replaces a source that is done.
      std::vector<int64_t> live;
      for (int64_t i = 0; i < sources; ++i) live.push_back(i);
      if (below(15) == 0) {
        live[static_cast<size_t>(below(sources))] = live.back();
        live.pop_back();
      }
      const int64_t next_beam = 1 + below(max_beam);
      std::vector<int32_t> order;
      std::vector<std::vector<float>> gathered;
      for (const int64_t source : live) {
        for (int64_t b = 0; b < next_beam; ++b) {
          const int64_t row = source * beam + below(beam);
          order.push_back(static_cast<int32_t>(row));
          gathered.push_back(read[static_cast<size_t>(row)]);
        }
      }
      cache.Gather(state, order, next_beam);
      read = gathered;
      sources = static_cast<int64_t>(live.size());
      beam = next_beam;
      tape.Rewind(mark);
      if (sources == 0) break;
      const DecoderState<float> view = cache.View(tape);
      expect(view[kPlain], 1);
      expect(view[kInHeads], kHeads);
      for (size_t row = 0; row < read.size(); ++row) {
        ASSERT_EQ(view[kLast].data()[row], read[row].back());
      }
    }
  }
}

TEST(DecoderStateStoreTest, GatherDropsOtherRows) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(DecoderState<float>(tape, 2, {}, kNumSlots),
                                 {.rows = 4, .vocabulary = 10}, arena);
  cache.View(tape).Append(kCache, tape.Full({2, 3, 1}, 9));
  EXPECT_FALSE(cache.View(tape)[kCache].has_value());
  // Rows are rearranged before any position is kept.
  cache.Gather(cache.View(tape), {0, 0, 1, 1}, 2);
  DecoderState<float> state = cache.View(tape);
  state.Append(kCache, tape.Constant({4, 1, 1}, {1, 2, 3, 4}));
  cache.Gather(state, {0, 1, 2, 3}, 2);
  cache.View(tape).Append(kCache, tape.Full({4, 1, 1}, 9));
  DecoderState<float> again = cache.View(tape);
  EXPECT_THAT(Valid(again[kCache], 1), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      Valid(again.Append(kCache, tape.Constant({4, 1, 1}, {5, 6, 7, 8})), 2),
      ElementsAre(1, 5, 2, 6, 3, 7, 4, 8));
}

// A row that has read two ids is added to two rows that have also read two ids.
TEST(DecoderStateStoreTest, GathersRowsThatWereAdded) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(DecoderState<float>(tape, 2, {}, kNumSlots),
                                 {.rows = 4, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  state.Append(kCache, tape.Constant({2, 2, 1}, {1, 2, 3, 4}));
  state.SetRowValue(kHidden, tape.Constant({2, 2}, {10, 11, 20, 21}));
  state.AdvancePosition(2);
  DecoderState<float> added(tape, 1, {}, kNumSlots);
  added.Append(kCache, tape.Constant({1, 2, 1}, {5, 6}));
  added.SetRowValue(kHidden, tape.Constant({1, 2}, {30, 31}));
  added.AdvancePosition(2);
  cache.AddRows(added);
  // The second source is done. Two copies of the added row replace it.
  cache.Gather(state, {0, 0, 2, 2}, 2);
  DecoderState<float> view = cache.View(tape);
  EXPECT_EQ(view.sources(), 2);
  EXPECT_EQ(view.rows_per_source(), 2);
  EXPECT_EQ(view.position(), 2);
  EXPECT_THAT(
      Valid(view.Append(kCache, tape.Constant({4, 1, 1}, {7, 8, 9, 10})), 3),
      ElementsAre(1, 2, 7, 1, 2, 8, 5, 6, 9, 5, 6, 10));
  EXPECT_THAT(view.RowValue(kHidden).span(),
              ElementsAre(10, 11, 10, 11, 30, 31, 30, 31));
}

TEST(DecoderStateStoreDeathTest, RefusesAddedRowsWithOtherSlots) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(Begin(tape, {}), {.rows = 9, .vocabulary = 10},
                                 arena);
  EXPECT_DEATH(cache.AddRows(Begin(tape, {})), "slot 0 of added rows");
  DecoderStateStore<float> empty(DecoderState<float>(tape, 1, {}, kNumSlots),
                                 {.rows = 9, .vocabulary = 10}, arena);
  EXPECT_DEATH(empty.AddRows(Begin(tape, {})), "slot 0 of added rows");
}

TEST(DecoderStateStoreDeathTest, RefusesGradients) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(DecoderState<float>(tape, 1, {}, kNumSlots),
                                 {.rows = 1, .vocabulary = 10}, arena);
  DecoderState<float> state = cache.View(tape);
  EXPECT_DEATH(state.Append(kCache, tape.Input({1, 1, 1}, {1})),
               "no gradient passes through a cache");
}

TEST(DecoderStateStoreDeathTest, RejectsTooManyRows) {
  Tape<float> tape;
  Arena arena;
  DecoderStateStore<float> cache(Begin(tape, {}), {.rows = 3, .vocabulary = 10},
                                 arena);
  const DecoderState<float> state = cache.View(tape);
  EXPECT_DEATH(cache.Gather(state, {0, 0, 1, 1}, 2), "4 rows, at most 3");
  EXPECT_DEATH(cache.Gather(state, {0, 1, 2}, 2), "2 rows a source");
  EXPECT_DEATH(cache.Gather(state, {0, 0}, 1), "cannot become source 0");
}

}  // namespace
}  // namespace regard
