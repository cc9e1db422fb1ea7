// Pieces of a text as the rows of a batch.
#ifndef LANGUAGE_TEXT_BATCH_H_
#define LANGUAGE_TEXT_BATCH_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "seq2seq/padded_ids.h"

namespace regard {

// Part of a text: ids[first .. first + length) are read, and each predicts the
// id after it. The first `skipped` predictions are not counted.
struct TextWindow {
  int64_t first;
  int64_t length;
  int64_t skipped = 0;
};

// A target is -1 where nothing is predicted, or it is not counted.
DecoderBatch MakeTextBatch(absl::Span<const int32_t> ids,
                           absl::Span<const TextWindow> windows, Arena& arena);

}  // namespace regard

#endif  // LANGUAGE_TEXT_BATCH_H_
