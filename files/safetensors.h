// Tensors on the disk in the safetensors format, which PyTorch and others open:
// float values written in the reference writer's order, and read with every
// check of the reference reader and a few of our own: see docs/checkpoints.md.
//
// The message of an error of the format has the reference's name for its kind:
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

// A non-owning view of a named tensor, for writing.
struct TensorView {
  std::string name;
  std::vector<int64_t> shape;      // empty for a scalar, which holds one value
  absl::Span<const float> values;  // row-major, as many as the shape says
};

// Hands the bytes to `sink` in pieces, the same for any order of tensors. Adds
// "format": "pt" to `metadata`: other libraries refuse a file without it. Names
// must differ, and each tensor must have the values that its shape says.
absl::Status WriteSafetensors(
    absl::Span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(absl::string_view)> sink);

// Writes the same atomically to a file.
absl::Status WriteSafetensorsFile(
    const std::string& path, absl::Span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata, FileOperations& files);

struct TensorInfo {
  // The format's name: "F32", "I64", ...
  std::string dtype;
  std::vector<int64_t> shape;
  // Bytes [begin, end) of the buffer that follows the header.
  int64_t begin = 0;
  int64_t end = 0;
};

// Whether the type is F32, F16 or BF16.
bool HoldsFloats(const TensorInfo& tensor);

struct SafetensorsHeader {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

// An open file whose header has been checked. Move-only.
class SafetensorsReader {
 public:
  static absl::StatusOr<SafetensorsReader> Open(const std::string& path);

  const SafetensorsHeader& header() const { return header_; }

  // Whether the tensor of that name holds floats in that very shape: otherwise
  // NotFound or InvalidArgument, without the file's name.
  absl::Status Check(const std::string& name,
                     absl::Span<const int64_t> shape) const;

  // Fills `values` with a tensor that passes Check().
  absl::Status Read(const std::string& name, absl::Span<const int64_t> shape,
                    absl::Span<float> values) const;

  // Fills `values` with a tensor of the header that HoldsFloats(), of as many
  // values. Each is exact.
  absl::Status ReadFloats(const std::string& name,
                          absl::Span<float> values) const;

  // The values of a tensor of any shape whose type is F32, F64, I32 or I64;
  // otherwise NotFound or InvalidArgument, without the file's name. An integer
  // beyond 2^53 is rounded.
  absl::StatusOr<std::vector<double>> ReadNumbers(
      const std::string& name) const;

 private:
  SafetensorsReader(FileReader file, SafetensorsHeader header,
                    int64_t buffer_begin)
      : file_(std::move(file)),
        header_(std::move(header)),
        buffer_begin_(buffer_begin) {}

  FileReader file_;
  SafetensorsHeader header_;
  int64_t buffer_begin_;
};

}  // namespace regard

#endif  // FILES_SAFETENSORS_H_
