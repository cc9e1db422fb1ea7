// The memory: the outputs of an encoder. A decoder attends to these outputs,
// and its initial state can depend on them.
#ifndef SEQ2SEQ_MEMORY_H_
#define SEQ2SEQ_MEMORY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/layers/recurrent.h"

namespace regard {

// The memory of a batch of sources, such as sentences or images. All fields
// except `sources` may be empty. A language model sets only `sources`.
template <typename T>
struct Memory {
  int64_t sources = 0;
  // The outputs, [sources, time, width].
  Var<T> values = {};
  // The number of valid outputs of each source, [sources]. Empty if all outputs
  // are valid.
  absl::Span<const int32_t> lengths = {};
  // A summary of each source, [sources, width], such as the last output.
  Var<T> summary = {};
  // The final state of each layer of a recurrent encoder.
  RecurrentState<T> final_state = {};
};

}  // namespace regard

#endif  // SEQ2SEQ_MEMORY_H_
