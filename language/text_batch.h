// Pieces of a text as the rows of a batch.
#ifndef LANGUAGE_TEXT_BATCH_H_
#define LANGUAGE_TEXT_BATCH_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// Part of a text: ids[first .. first + length) are read, and each predicts the
// id after it. The first `skipped` predictions are not counted.
struct TextWindow {
  int64_t first;
  int64_t length;
  int64_t skipped = 0;
};

// In the arena of a step; the rows are as long as the longest window.
struct TextBatch {
  int64_t size = 0;
  int64_t time = 0;
  absl::Span<const int32_t> input;  // [size, time]; any id behind a window
  // [size, time]; -1 where nothing is predicted, or it is not counted.
  absl::Span<const int32_t> target;
};

TextBatch MakeTextBatch(absl::Span<const int32_t> ids,
                        absl::Span<const TextWindow> windows, Arena& arena);

}  // namespace regard

#endif  // LANGUAGE_TEXT_BATCH_H_
