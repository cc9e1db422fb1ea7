// The header of a safetensors file, read with every check of the format's
// reference reader and a few of our own: see docs/checkpoints.md.
//
// An error's message begins with the reference's name for its kind:
// HeaderTooSmall, HeaderTooLarge, InvalidHeaderLength, InvalidHeader,
// InvalidHeaderStart, InvalidHeaderDeserialization, InvalidOffset,
// TensorInvalidInfo, ValidationOverflow, MetadataIncompleteBuffer.
#ifndef FILES_SAFETENSORS_HEADER_H_
#define FILES_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace regard {

// Tighter than the reference's 100 MB: a header of a hundred thousand tensors
// is below a tenth of it.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxSafetensorsTensors = 1'000'000;

struct TensorInfo {
  // The format's name: "F32", "I64", ...
  std::string dtype;
  std::vector<int64_t> shape;
  // Bytes [begin, end) of the buffer that follows the header.
  int64_t begin = 0;
  int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads the header's text. `buffer_bytes` is what the file holds after it; the
// tensors must cover that without a hole, an overlap or a rest. All errors are
// InvalidArgument.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text,
                                                         int64_t buffer_bytes);

}  // namespace regard

#endif  // FILES_SAFETENSORS_HEADER_H_
