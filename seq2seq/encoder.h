// The interface of encoders that read token ids.
#ifndef SEQ2SEQ_ENCODER_H_
#define SEQ2SEQ_ENCODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/positions.h"
#include "nn/forward.h"
#include "seq2seq/memory.h"

namespace regard {

template <typename T>
class Encoder {
 public:
  virtual ~Encoder() = default;

  // `ids` [sources, time], of which the first lengths[i] of source i are valid.
  // Both outlive the step. The memory of a source depends on its valid ids
  // alone.
  virtual Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                           absl::Span<const int32_t> lengths) const = 0;

  // Ids that a source can have at most; more fail a check in Encode().
  virtual int64_t longest_position() const { return kUnlimited; }
};

}  // namespace regard

#endif  // SEQ2SEQ_ENCODER_H_
