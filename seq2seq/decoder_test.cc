// The alignment that maps of several heads and layers come to, and a decoder
// whose state is kept in a cache.
#include "seq2seq/decoder.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/testing/growing_decoder.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(MemoryAlignmentTest, IsTheMeanOverHeadsOfTheLastMapOverTheMemory) {
  Tape<double> tape;
  const std::vector<AttentionMap<double>> maps = {
      {"first", true, tape.Full({2, 1, 2, 1}, 7)},
      {"second", true, tape.Constant({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {"self", false, tape.Full({2, 1, 2, 5}, 9)}};
  const Var<double> alignment =
      MemoryAlignment<double>(absl::MakeConstSpan(maps));
  EXPECT_EQ(alignment.shape(), Shape({2, 1, 2}));
  EXPECT_THAT(alignment.span(), ElementsAre(2, 3, 6, 7));
}

TEST(MemoryAlignmentTest, IsOfTheChosenLayerAndHead) {
  Tape<double> tape;
  const std::vector<AttentionMap<double>> maps = {
      {"self", false, tape.Full({2, 1, 1, 5}, 9)},
      {"first", true, tape.Constant({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {"second", true, tape.Full({2, 2, 1, 2}, 9)}};
  const auto aligned = [&](const AlignmentChoice& choice) {
    return MemoryAlignment<double>(absl::MakeConstSpan(maps), choice);
  };
  EXPECT_THAT(aligned({.layer = 0}).span(), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(aligned({.layer = 0, .head = 0}).span(), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(aligned({.layer = 0, .head = 1}).span(), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(aligned({.head = 1}).span(), ElementsAre(9, 9, 9, 9));
  EXPECT_DEATH(aligned({.layer = 2}), "layer 2 of 2");
  EXPECT_DEATH(aligned({.head = 2}), "no head 2 of 2");
}

TEST(MemoryAlignmentTest, IsEmptyWithoutAMapOverTheMemory) {
  Tape<float> tape;
  EXPECT_FALSE(MemoryAlignment<float>({}).has_value());
  const std::vector<AttentionMap<float>> maps = {
      {"self", false, tape.Full({1, 1, 1, 1}, 1)}};
  EXPECT_FALSE(MemoryAlignment<float>(absl::MakeConstSpan(maps)).has_value());
}

// Beams that repeat, change places and die, each against its own ids read one
// after another without a cache: every bit is the same, though the cache holds
// spare positions.
TEST(DecoderCacheTest, ACachedStepHasTheBitsOfAStepWithoutCache) {
  constexpr int64_t kVocabulary = 9;
  constexpr int64_t kSources = 2;
  constexpr int kSteps = 40;
  const GrowingDecoder<float> decoder(kVocabulary, /*longest=*/kSteps,
                                      /*seed=*/3);
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  for (const int64_t beam : {1, 3, 4}) {
    const RandomStream random(static_cast<uint64_t>(beam), "beams");
    uint64_t draws = 0;
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(
          random.BelowAt(draws++, static_cast<uint64_t>(n)));
    };
    forward.BeginStep();
    Arena arena;
    DecoderCache<float> cache(decoder.Begin(forward, {.sources = kSources}),
                              {.rows = kSources * beam,
                               .vocabulary = kVocabulary,
                               .positions = decoder.longest_position()},
                              arena);
    std::vector<std::vector<int32_t>> read(kSources);
    const Tape<float>::Mark mark = tape.Save();
    for (int step = 0; step < kSteps; ++step) {
      std::vector<int32_t> ids;
      for (auto& of_row : read) {
        of_row.push_back(static_cast<int32_t>(below(kVocabulary)));
        ids.push_back(of_row.back());
      }
      DecoderState<float> state = cache.View(tape);
      const Var<float> readout =
          decoder.Advance(forward, ids, {}, &state).readout;
      for (size_t row = 0; row < read.size(); ++row) {
        DecoderState<float> alone = decoder.Begin(forward, {.sources = 1});
        Var<float> last;
        for (const int32_t id : read[row]) {
          last =
              decoder.Advance(forward, absl::MakeConstSpan(&id, 1), {}, &alone)
                  .readout;
        }
        const auto width = static_cast<size_t>(last.size());
        ASSERT_EQ(readout.span().subspan(row * width, width), last.span())
            << "beam " << beam << ", step " << step << ", row " << row;
      }
      const auto rows = static_cast<int64_t>(read.size()) / kSources;
      std::vector<int32_t> order;
      std::vector<std::vector<int32_t>> gathered;
      for (int64_t i = 0; i < kSources * beam; ++i) {
        const int64_t from = i / beam * rows + below(rows);
        order.push_back(static_cast<int32_t>(from));
        gathered.push_back(read[static_cast<size_t>(from)]);
      }
      cache.Gather(state, order, beam);
      read = gathered;
      tape.Rewind(mark);
    }
  }
}

}  // namespace
}  // namespace regard
