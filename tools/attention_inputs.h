// Input arrays of attention. A user provides them as one JSON object or a
// safetensors file:
//
//   queries      [queries, width] or [batch, queries, width]
//   keys         [keys, width] or [batch, keys, width]
//   values       [keys, width] or [batch, keys, width]
//   key_lengths  optional: [batch] or [batch, queries]; without a batch, one
//                number or [queries]
//   mask         optional: [batch, keys] or [batch, queries, keys]; without a
//                batch, [keys] or [queries, keys]. 1: the key is visible,
//                0: the key is masked
#ifndef TOOLS_ATTENTION_INPUTS_H_
#define TOOLS_ATTENTION_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

struct NumberArray {
  std::vector<int64_t> shape;
  // The elements of the array, row-major.
  std::vector<double> numbers;
};

struct AttentionInputs {
  // Whether the arrays in the file have a batch axis. If not, the batch size
  // is 1.
  bool has_batch = false;
  // [batch, n, width]. No axis is empty, and there are as many keys as values.
  NumberArray queries;
  NumberArray keys;
  NumberArray values;
  // The number of visible keys, [batch] or [batch, queries]. Empty if all keys
  // are visible.
  std::vector<int32_t> key_lengths;
  // Nonzero if a key is visible, [batch, keys] or [batch, queries, keys]. Empty
  // if all keys are visible. Keys beyond key_lengths are not visible.
  std::vector<uint8_t> mask;
};

// Reads the arrays from a file. An error states the position, what was found
// and what is required, and can be printed as it is.
absl::StatusOr<AttentionInputs> ReadAttentionInputs(const std::string& path);
// Like ReadAttentionInputs(), but parses the text of a JSON object. Messages
// use `name` as its path.
absl::StatusOr<AttentionInputs> ParseAttentionInputs(absl::string_view text,
                                                     absl::string_view name);

// Returns the mask as [batch, queries, keys]. Empty if all keys are visible.
std::vector<uint8_t> DenseMask(const AttentionInputs& arrays);

// Returns a shape as text, such as "[2, 3]".
std::string ShapeText(absl::Span<const int64_t> shape);

}  // namespace regard

#endif  // TOOLS_ATTENTION_INPUTS_H_
