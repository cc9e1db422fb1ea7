// What an encoder leaves for a decoder to attend to and to start from.
#ifndef SEQ2SEQ_MEMORY_H_
#define SEQ2SEQ_MEMORY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/layers/recurrent.h"

namespace regard {

// The memory of a batch of sources: sentences, images, or nothing at all. All
// but the number of sources may be empty, as it is for a language model.
template <typename T>
struct Memory {
  int64_t sources = 0;
  // Outputs [sources, time, width], and how many of them are valid, [sources];
  // without lengths all are.
  Var<T> values = {};
  absl::Span<const int32_t> lengths = {};
  // A summary of each source, [sources, width], such as the last output.
  Var<T> summary = {};
  // The final state of a recurrent encoder, layer by layer.
  RecurrentState<T> final_state = {};
};

}  // namespace regard

#endif  // SEQ2SEQ_MEMORY_H_
