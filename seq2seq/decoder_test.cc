// Tests a decoder whose state is kept in a cache.
#include "seq2seq/decoder.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/testing/growing_decoder.h"

namespace regard {
namespace {

// Beams are repeated, exchanged and ended. The readout of each row must be
// bit-identical to the readout after reading its ids one by one without a
// cache. Spare positions in the cache must not matter.
TEST(DecoderStateStoreTest, ACachedStepHasTheBitsOfAStepWithoutCache) {
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
          random.UniformIntAt(draws++, static_cast<uint64_t>(n)));
    };
    forward.BeginStep();
    Arena arena;
    DecoderStateStore<float> cache(
        decoder.Begin(forward, {.sources = kSources}),
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
      const Var<float> readout = decoder.Advance(forward, ids, {}, &state);
      for (size_t row = 0; row < read.size(); ++row) {
        DecoderState<float> alone = decoder.Begin(forward, {.sources = 1});
        Var<float> last;
        for (const int32_t id : read[row]) {
          last =
              decoder.Advance(forward, absl::MakeConstSpan(&id, 1), {}, &alone);
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
