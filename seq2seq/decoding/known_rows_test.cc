// Tests that rows are computed once for each id.
#include "seq2seq/decoding/known_rows.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownRowsTest, ComputesEachIdOnceAndOutlivesARewind) {
  Tape<float> tape;
  Arena arena;
  CachedRows<float> known(/*vocabulary=*/5, arena);
  std::vector<int32_t> computed;
  const auto get = [&](std::vector<int32_t> ids) {
    computed.clear();
    return known.Get(tape, ids, [&](absl::Span<const int32_t> unknown) {
      const Var<float> rows =
          tape.Constant({static_cast<int64_t>(unknown.size()), 2});
      for (size_t i = 0; i < unknown.size(); ++i) {
        computed.push_back(unknown[i]);
        rows.data()[2 * i] = static_cast<float>(unknown[i]);
        rows.data()[2 * i + 1] = static_cast<float>(10 * unknown[i]);
      }
      return rows;
    });
  };
  const Tape<float>::Mark mark = tape.Save();
  EXPECT_THAT(get({4, 1, 4}).span(), ElementsAre(4, 40, 1, 10, 4, 40));
  EXPECT_THAT(computed, ElementsAre(4, 1));
  tape.Rewind(mark);
  tape.Full({100}, -1);
  EXPECT_THAT(get({1, 0}).span(), ElementsAre(1, 10, 0, 0));
  EXPECT_THAT(computed, ElementsAre(0));
  EXPECT_THAT(get({0, 4}).span(), ElementsAre(0, 0, 4, 40));
  EXPECT_THAT(computed, IsEmpty());
}

}  // namespace
}  // namespace regard
