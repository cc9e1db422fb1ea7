#include "files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/json_text.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// The format is little-endian, and values go to the disk as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr char kMetadataKey[] = "__metadata__";
constexpr int64_t kLengthBytes = 8;

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

int64_t ValuesIn(absl::Span<const int64_t> shape) {
  int64_t values = 1;
  for (const int64_t size : shape) values *= size;
  return values;
}

absl::string_view BytesOf(absl::Span<const float> values) {
  return absl::string_view(reinterpret_cast<const char*>(values.data()),
                           values.size() * sizeof(float));
}

// The header's JSON, padded with spaces so that the buffer starts aligned.
std::string HeaderText(const std::vector<const TensorView*>& order,
                       std::map<std::string, std::string> metadata) {
  metadata["format"] = "pt";
  std::string text = absl::StrCat("{\"", kMetadataKey, "\":{");
  const char* comma = "";
  for (const auto& [key, value] : metadata) {
    absl::StrAppend(&text, comma, JsonString(key), ":", JsonString(value));
    comma = ",";
  }
  absl::StrAppend(&text, "}");
  int64_t begin = 0;
  for (const TensorView* tensor : order) {
    const int64_t end = begin + BytesOf(tensor->values).size();
    absl::StrAppend(&text, ",", JsonString(tensor->name),
                    ":{\"dtype\":\"F32\",\"shape\":[",
                    absl::StrJoin(tensor->shape, ","), "],\"data_offsets\":[",
                    begin, ",", end, "]}");
    begin = end;
  }
  absl::StrAppend(&text, "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

absl::Status WriteSafetensors(
    absl::Span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) {
    REGARD_CHECK_NE(tensor.name, kMetadataKey);
    REGARD_CHECK_EQ(ValuesIn(tensor.shape),
                    static_cast<int64_t>(tensor.values.size()))
        << tensor.name << " " << ShapeText(tensor.shape);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) {
              return a->name < b->name;
            });
  for (size_t i = 1; i < order.size(); ++i) {
    REGARD_CHECK_NE(order[i - 1]->name, order[i]->name);
  }
  const std::string header = HeaderText(order, metadata);
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(
      static_cast<uint64_t>(header.size()));
  REGARD_RETURN_IF_ERROR(sink(absl::string_view(length.data(), length.size())));
  REGARD_RETURN_IF_ERROR(sink(header));
  for (const TensorView* tensor : order) {
    REGARD_RETURN_IF_ERROR(sink(BytesOf(tensor->values)));
  }
  return absl::OkStatus();
}

absl::Status WriteSafetensorsFile(
    const std::string& path, absl::Span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata, FileOperations& files) {
  return WriteFileAtomically(path, files, [&](FileWriter& writer) {
    return WriteSafetensors(tensors, metadata, [&](absl::string_view bytes) {
      return writer.Append(bytes);
    });
  });
}

SafetensorsReader::SafetensorsReader(FileReader file, SafetensorsHeader header,
                                     int64_t buffer_begin)
    : file_(std::move(file)),
      header_(std::move(header)),
      buffer_begin_(buffer_begin) {}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
  if (file.size() < kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": HeaderTooSmall: a file of ", file.size(),
                     " bytes, at least 8 wanted"));
  }
  std::array<char, kLengthBytes> length_bytes;
  REGARD_RETURN_IF_ERROR(file.ReadAt(0, absl::MakeSpan(length_bytes)));
  const auto length = std::bit_cast<uint64_t>(length_bytes);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": HeaderTooLarge: a header of ", length,
                     " bytes, at most ", kMaxSafetensorsHeaderBytes));
  }
  const int64_t buffer_begin = kLengthBytes + static_cast<int64_t>(length);
  if (buffer_begin > file.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": InvalidHeaderLength: a header of ", length,
                     " bytes in a file of ", file.size()));
  }
  std::string text(length, '\0');
  REGARD_RETURN_IF_ERROR(file.ReadAt(kLengthBytes, absl::MakeSpan(text)));
  absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader(text, file.size() - buffer_begin);
  if (!header.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", header.status().message()));
  }
  return SafetensorsReader(std::move(file), *std::move(header), buffer_begin);
}

absl::Status SafetensorsReader::Read(const std::string& name,
                                     absl::Span<const int64_t> shape,
                                     absl::Span<float> values) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    return absl::NotFoundError(
        absl::StrCat(file_.path(), ": no tensor '", name, "'"));
  }
  const TensorInfo& tensor = found->second;
  if (tensor.dtype != "F32" || absl::MakeConstSpan(tensor.shape) != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        file_.path(), ": tensor '", name, "' is ", tensor.dtype, " ",
        ShapeText(tensor.shape), ", F32 ", ShapeText(shape), " wanted"));
  }
  REGARD_CHECK_EQ(ValuesIn(shape), static_cast<int64_t>(values.size()))
      << name << " " << ShapeText(shape);
  return file_.ReadAt(buffer_begin_ + tensor.begin,
                      absl::MakeSpan(reinterpret_cast<char*>(values.data()),
                                     values.size() * sizeof(float)));
}

}  // namespace regard
