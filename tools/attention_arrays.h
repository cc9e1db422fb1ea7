// The arrays that an attention is computed of, as a user writes them: one JSON
// object, or a safetensors file, with
//
//   queries      [queries, width] or [batch, queries, width]
//   keys         [keys, width] or [batch, keys, width]
//   values       [keys, width] or [batch, keys, width]
//   key_lengths  optional: [batch] or [batch, queries]; without a batch, one
//                number or [queries]
//   mask         optional: [batch, keys] or [batch, queries, keys]; without a
//                batch, [keys] or [queries, keys]. 1: the key may be seen, 0:
//                it may not
#ifndef TOOLS_ATTENTION_ARRAYS_H_
#define TOOLS_ATTENTION_ARRAYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

struct NumberArray {
  std::vector<int64_t> shape;
  std::vector<double> numbers;  // row-major, as many as the shape says
};

struct AttentionArrays {
  bool has_batch = false;  // in the file; otherwise the batch is 1
  // [batch, n, width], without an empty axis; keys and values are as many.
  NumberArray queries;
  NumberArray keys;
  NumberArray values;
  // From 0 to the number of keys, [batch] or [batch, queries]; empty: all.
  std::vector<int32_t> key_lengths;
  // Nonzero where visible, [batch, keys] or [batch, queries, keys]; empty: all.
  // No key beyond key_lengths is visible.
  std::vector<uint8_t> mask;
};

// An error says where in the file what was found and what was wanted; it is
// complete to print.
absl::StatusOr<AttentionArrays> ReadAttentionArrays(const std::string& path);
// The same of the text of a JSON object, which messages call `name`.
absl::StatusOr<AttentionArrays> ParseAttentionArrays(absl::string_view text,
                                                     absl::string_view name);

// The mask as [batch, queries, keys]; empty: all keys are visible.
std::vector<uint8_t> DenseMask(const AttentionArrays& arrays);

// "[2, 3]".
std::string ShapeText(absl::Span<const int64_t> shape);

}  // namespace regard

#endif  // TOOLS_ATTENTION_ARRAYS_H_
