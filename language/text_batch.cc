#include "language/text_batch.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

TextBatch MakeTextBatch(absl::Span<const int32_t> ids,
                        absl::Span<const TextWindow> windows, Arena& arena) {
  TextBatch batch;
  batch.size = static_cast<int64_t>(windows.size());
  for (const TextWindow& window : windows) {
    REGARD_CHECK(window.first >= 0 && window.first + window.length <
                                          static_cast<int64_t>(ids.size()))
        << "ids " << window.first << " to " << window.first + window.length
        << " of " << ids.size();
    batch.time = std::max(batch.time, window.length);
  }
  const int64_t count = batch.size * batch.time;
  int32_t* input = arena.New<int32_t>(count);
  int32_t* target = arena.New<int32_t>(count);
  batch.input = {input, static_cast<size_t>(count)};
  batch.target = {target, static_cast<size_t>(count)};
  for (const TextWindow& window : windows) {
    const int32_t* const from = ids.data() + window.first;
    std::fill(std::copy_n(from, window.length, input), input + batch.time, 0);
    std::fill(std::copy_n(from + 1, window.length, target), target + batch.time,
              -1);
    std::fill_n(target, window.skipped, -1);
    input += batch.time;
    target += batch.time;
  }
  return batch;
}

}  // namespace regard
