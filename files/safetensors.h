// Reads and writes tensors in the safetensors format, which PyTorch and other
// libraries can open. The writer stores tensors in the same order as the
// reference writer. The reader makes all checks of the reference reader and
// some additional checks. See docs/checkpoints.md.
//
// The message of a format error begins with the reference's name of the error:
// HeaderTooSmall, HeaderTooLarge, InvalidHeaderLength, InvalidHeader,
// InvalidHeaderStart, InvalidHeaderDeserialization, InvalidOffset,
// TensorInvalidInfo, ValidationOverflow, MetadataIncompleteBuffer.
#ifndef FILES_SAFETENSORS_H_
#define FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "files/file.h"

namespace regard {

// A view of a named tensor, for writing. Does not own the values.
struct NamedTensorView {
  std::string name;
  std::vector<int64_t> shape;      // empty for a scalar, which has one value
  absl::Span<const float> values;  // row-major; one for each element
};

// Passes the bytes to `sink` in pieces. The bytes do not depend on the order of
// tensors. Adds "format": "pt" to `metadata`, because other libraries reject
// files without it. Names must differ, and each tensor must have as many values
// as its shape requires.
absl::Status WriteSafetensors(
    absl::Span<const NamedTensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(absl::string_view)> sink);

// Writes the tensors to a file, atomically.
absl::Status WriteSafetensorsFile(
    const std::string& path, absl::Span<const NamedTensorView> tensors,
    const std::map<std::string, std::string>& metadata, FileOperations& files);

struct TensorInfo {
  // The name in the format: "F32", "I64", ...
  std::string dtype;
  std::vector<int64_t> shape;
  // Bytes [begin, end) of the buffer after the header.
  int64_t begin = 0;
  int64_t end = 0;
};

// Whether the type is F32, F16 or BF16.
bool ContainsFloats(const TensorInfo& tensor);

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

// An open file with a valid header. Move-only.
class SafetensorsReader {
 public:
  static absl::StatusOr<SafetensorsReader> Open(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }

  // Returns OK if the tensor with this name contains floats in exactly this
  // shape. Otherwise, returns NotFound or InvalidArgument, without the name of
  // the file.
  absl::Status Check(const std::string& name,
                     absl::Span<const int64_t> shape) const;

  // Fills `values` with a tensor that passes Check().
  absl::Status Read(const std::string& name, absl::Span<const int64_t> shape,
                    absl::Span<float> values) const;

  // Fills `values` with a tensor of the header for which ContainsFloats() is
  // true. The tensor must have exactly as many elements as `values`.
  absl::Status ReadFloats(const std::string& name,
                          absl::Span<float> values) const;

  // Returns the values of a tensor of any shape with the type F32, F64, I32 or
  // I64. Rounds integers beyond 2^53. For other tensors, returns NotFound or
  // InvalidArgument, without the name of the file.
  absl::StatusOr<std::vector<double>> ReadNumbers(
      const std::string& name) const;

 private:
  SafetensorsReader(RandomAccessFile file, SafetensorsHeader header,
                    int64_t buffer_begin)
      : file_(std::move(file)),
        header_(std::move(header)),
        buffer_begin_(buffer_begin) {}

  RandomAccessFile file_;
  SafetensorsHeader header_;
  int64_t buffer_begin_;
};

}  // namespace regard

#endif  // FILES_SAFETENSORS_H_
