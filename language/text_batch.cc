#include "language/text_batch.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

DecoderBatch MakeTextBatch(absl::Span<const int32_t> ids,
                           absl::Span<const TextWindow> windows, Arena& arena) {
  const auto rows = static_cast<int64_t>(windows.size());
  const auto part = [&](int64_t row, int64_t shift) {
    const auto [first, length, skipped] = windows[static_cast<size_t>(row)];
    REGARD_CHECK(first >= 0 &&
                 first + length < static_cast<int64_t>(ids.size()))
        << "ids " << first << " to " << first + length << " of " << ids.size();
    return ids.subspan(static_cast<size_t>(first + shift),
                       static_cast<size_t>(length));
  };
  const DecoderBatch batch = {
      Pad(rows, /*pad=*/0, arena, [&](int64_t row) { return part(row, 0); }),
      Pad(rows, /*pad=*/-1, arena, [&](int64_t row) {
        return part(row, 1);
      }).ids};
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(batch.target.data() + row * batch.input.time,
                windows[static_cast<size_t>(row)].skipped, -1);
  }
  return batch;
}

}  // namespace regard
