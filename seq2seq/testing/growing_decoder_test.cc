#include "seq2seq/testing/growing_decoder.h"

#include <cstdint>

#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"

namespace regard {
namespace {

// Reading all ids at once must give the same result at each position as reading
// them one by one.
TEST(GrowingDecoderTest, IdsAtOnceEqualIdsOneByOne) {
  const GrowingDecoder<double> decoder(12, 40, 3);
  ParameterStore<double> none;
  none.Finalize(0);
  Tape<double> tape;
  Forward<double> pass(tape, none, nullptr);
  pass.BeginStep();
  const int32_t ids[] = {2, 5, 7, 11, 2, 4, 4, 9};
  DecoderState<double> whole = decoder.Begin(pass, {.sources = 2});
  const Var<double> all = decoder.Advance(pass, ids, {}, &whole);
  DecoderState<double> state = decoder.Begin(pass, {.sources = 2});
  for (int64_t t = 0; t < 4; ++t) {
    const int32_t now[] = {ids[t], ids[4 + t]};
    const Var<double> step = decoder.Advance(pass, now, {}, &state);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t i = 0; i < step.cols(); ++i) {
        EXPECT_NEAR(step.at(b, i), all.at(4 * b + t, i), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace regard
