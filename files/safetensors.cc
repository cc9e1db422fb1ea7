#include "files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/json_file.h"
#include "files/utf8.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// The format is little-endian, and values are written as stored in memory.
static_assert(std::endian::native == std::endian::little);

constexpr char kMetadataKey[] = "__metadata__";
constexpr char kSyntax[] = "InvalidHeaderDeserialization";
constexpr int64_t kLengthBytes = 8;
// The limit is lower than the reference's 100 MB. A header of a hundred
// thousand tensors takes less than a tenth of the limit.
constexpr int64_t kMaxHeaderBytes = int64_t{64} << 20;

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

// Returns the JSON of the header, padded so that the buffer is aligned.
std::string HeaderText(
    const std::map<std::string, const NamedTensorView*>& tensors,
    std::map<std::string, std::string> metadata) {
  metadata["format"] = "pt";
  std::string text =
      absl::StrCat("{\"", kMetadataKey, "\":", JsonText(metadata));
  int64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t end = begin + BytesOf(tensor->values).size();
    absl::StrAppend(&text, ",", JsonText(name), ":",
                    JsonText({{"dtype", "F32"},
                              {"shape", tensor->shape},
                              {"data_offsets", {begin, end}}}));
    begin = end;
  }
  absl::StrAppend(&text, "}");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string Quoted(absl::string_view name) {
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(name), "'");
}

// Returns the error "KIND: PROBLEM" or "KIND: tensor 'NAME': PROBLEM".
template <typename... Parts>
absl::Status Malformed(absl::string_view kind, const Parts&... problem) {
  return absl::InvalidArgumentError(absl::StrCat(kind, ": ", problem...));
}
template <typename... Parts>
absl::Status MalformedTensor(absl::string_view kind, const std::string& name,
                             const Parts&... problem) {
  return Malformed(kind, "tensor ", Quoted(name), ": ", problem...);
}

// Returns the number of bytes of a value, or 0 for an unknown type.
int64_t BytesOfType(const std::string& dtype) {
  static const auto* const types = new std::map<std::string, int64_t>{
      {"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"F8_E8M0", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},     {"BF16", 2},
      {"I32", 4},     {"U32", 4}, {"F32", 4}, {"I64", 8},     {"U64", 8},
      {"F64", 8},     {"C64", 8}};
  const auto found = types->find(dtype);
  return found == types->end() ? 0 : found->second;
}

// Converts IEEE 754 binary16.
float FromF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} >> 15 << 31;
  const uint32_t exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 1023;
  uint32_t magnitude = 0;
  if (exponent == 0) {  // zero or subnormal
    magnitude =
        std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
  } else if (exponent == 31) {  // infinity or NaN
    magnitude = uint32_t{255} << 23 | fraction << 13;
  } else {
    magnitude = (exponent + 127 - 15) << 23 | fraction << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

// Converts bfloat16, which is the upper half of a float.
float FromBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// Converts the two-byte numbers in the second half of `values` to floats, in
// place. The i-th number is read before any result overwrites it.
void Widen(float (*convert)(uint16_t), absl::Span<float> values) {
  const auto* const halves =
      reinterpret_cast<const char*>(values.data()) + 2 * values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, halves + 2 * i, sizeof(bits));
    values[i] = convert(bits);
  }
}

TensorInfo ReadTensor(const JsonObject& json) {
  TensorInfo tensor = {.dtype = json.Text("dtype"),
                       .shape = json.Counts("shape")};
  const std::vector<int64_t> offsets = json.Counts("data_offsets");
  if (BytesOfType(tensor.dtype) == 0) {
    json.AddProblem(
        "dtype",
        absl::StrCat("dtype must be a type of safetensors, such as F32; got ",
                     Quoted(tensor.dtype)));
  }
  if (offsets.size() == 2) {
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
  } else {
    json.AddProblem("data_offsets", "data_offsets must be two numbers");
  }
  if (json.json().size() > 3) {
    json.AddProblem("",
                    "a tensor must have only dtype, shape and data_offsets");
  }
  return tensor;
}

// Returns the number of bytes that dtype and shape require. As in the
// reference, any overflow is an error, even if a later extent is 0.
absl::StatusOr<int64_t> BytesFor(const std::string& name,
                                 const TensorInfo& tensor) {
  int64_t bytes = 1;
  bool overflow = false;
  for (const int64_t size : tensor.shape) {
    overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  }
  overflow |= __builtin_mul_overflow(bytes, BytesOfType(tensor.dtype), &bytes);
  if (!overflow) return bytes;
  return MalformedTensor("ValidationOverflow", name,
                         "its size in bytes must fit into 64 bits");
}

// Checks that the tensors cover the buffer without holes or overlaps.
absl::Status CheckOffsets(const SafetensorsHeader& header,
                          int64_t buffer_bytes) {
  using Named = std::pair<const std::string, TensorInfo>;
  std::vector<const Named*> order;
  for (const Named& named : header.tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(),
                   [](const Named* a, const Named* b) {
                     return std::tie(a->second.begin, a->second.end) <
                            std::tie(b->second.begin, b->second.end);
                   });
  int64_t covered = 0;
  for (const Named* named : order) {
    const auto& [name, tensor] = *named;
    if (tensor.begin != covered || tensor.end < tensor.begin) {
      return MalformedTensor(
          "InvalidOffset", name, "data_offsets [", tensor.begin, ", ",
          tensor.end, "] must begin at ", covered,
          ", where the tensors before it end, and must not decrease");
    }
    REGARD_ASSIGN_OR_RETURN(const int64_t bytes, BytesFor(name, tensor));
    if (tensor.end - tensor.begin != bytes) {
      return MalformedTensor("TensorInvalidInfo", name, "has ",
                             tensor.end - tensor.begin,
                             " bytes, but dtype and shape require ", bytes);
    }
    covered = tensor.end;
  }
  if (covered == buffer_bytes) return absl::OkStatus();
  return Malformed("MetadataIncompleteBuffer", "the tensors cover ", covered,
                   " bytes, but the file has ", buffer_bytes,
                   " after its header; both numbers must be equal");
}

absl::StatusOr<SafetensorsHeader> ParseHeader(absl::string_view text,
                                              int64_t buffer_bytes) {
  if (FindInvalidUtf8(text).has_value()) {
    return Malformed("InvalidHeader", "the header must be UTF-8");
  }
  // The format requires this first character. This check also rejects a byte
  // order mark.
  if (text.empty() || text.front() != '{') {
    return Malformed("InvalidHeaderStart", "the header must begin with '{'");
  }
  absl::StatusOr<JsonFile> file = JsonFile::Parse(text, "header");
  if (!file.ok()) return Malformed(kSyntax, file.status().message());
  const JsonObject root = file->root();
  SafetensorsHeader header;
  header.metadata = root.Texts(kMetadataKey);
  for (const auto& [name, value] : root.json().items()) {
    if (name == kMetadataKey) continue;
    const std::optional<JsonObject> tensor = root.Object(name);
    root.Require(name);
    if (!file->status().ok()) break;
    header.tensors[name] = ReadTensor(*tensor);
    if (!file->status().ok()) {
      return MalformedTensor(kSyntax, name, file->status().message());
    }
  }
  if (!file->status().ok()) {
    return Malformed(kSyntax, file->status().message());
  }
  REGARD_RETURN_IF_ERROR(CheckOffsets(header, buffer_bytes));
  return header;
}

}  // namespace

absl::Status WriteSafetensors(
    absl::Span<const NamedTensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  std::map<std::string, const NamedTensorView*> order;
  for (const NamedTensorView& tensor : tensors) {
    REGARD_CHECK_NE(tensor.name, kMetadataKey);
    REGARD_CHECK_EQ(ValuesIn(tensor.shape),
                    static_cast<int64_t>(tensor.values.size()))
        << tensor.name << " " << ShapeText(tensor.shape);
    const bool is_new = order.emplace(tensor.name, &tensor).second;
    REGARD_CHECK(is_new) << tensor.name << " occurs twice";
  }
  const std::string header = HeaderText(order, metadata);
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(
      static_cast<uint64_t>(header.size()));
  REGARD_RETURN_IF_ERROR(sink(absl::string_view(length.data(), length.size())));
  REGARD_RETURN_IF_ERROR(sink(header));
  for (const auto& [name, tensor] : order) {
    REGARD_RETURN_IF_ERROR(sink(BytesOf(tensor->values)));
  }
  return absl::OkStatus();
}

absl::Status WriteSafetensorsFile(
    const std::string& path, absl::Span<const NamedTensorView> tensors,
    const std::map<std::string, std::string>& metadata, FileOperations& files) {
  return WriteFileAtomically(path, files, [&](FileWriter& writer) {
    return WriteSafetensors(tensors, metadata, [&](absl::string_view bytes) {
      return writer.Append(bytes);
    });
  });
}

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  const auto malformed = [&](const absl::Status& problem) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", problem.message()));
  };
  if (file.size() < kLengthBytes) {
    return malformed(Malformed("HeaderTooSmall", "the file has ", file.size(),
                               " bytes; at least 8 are required"));
  }
  std::array<char, kLengthBytes> length_bytes;
  REGARD_RETURN_IF_ERROR(file.ReadAt(0, absl::MakeSpan(length_bytes)));
  const auto length = std::bit_cast<uint64_t>(length_bytes);
  if (length > static_cast<uint64_t>(kMaxHeaderBytes)) {
    return malformed(Malformed("HeaderTooLarge", "the header has ", length,
                               " bytes; at most ", kMaxHeaderBytes,
                               " are allowed"));
  }
  const int64_t buffer_begin = kLengthBytes + static_cast<int64_t>(length);
  if (buffer_begin > file.size()) {
    return malformed(Malformed("InvalidHeaderLength", "the header has ", length,
                               " bytes, but the file has ", file.size()));
  }
  std::string text(length, '\0');
  REGARD_RETURN_IF_ERROR(file.ReadAt(kLengthBytes, absl::MakeSpan(text)));
  absl::StatusOr<SafetensorsHeader> header =
      ParseHeader(text, file.size() - buffer_begin);
  if (!header.ok()) return malformed(header.status());
  return SafetensorsReader(std::move(file), *std::move(header), buffer_begin);
}

bool ContainsFloats(const TensorInfo& tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "F16" ||
         tensor.dtype == "BF16";
}

absl::Status SafetensorsReader::Check(const std::string& name,
                                      absl::Span<const int64_t> shape) const {
  const auto found = header_.tensors.find(name);
  const std::string wanted = absl::StrCat("F32 ", ShapeText(shape));
  if (found == header_.tensors.end()) {
    return absl::NotFoundError(
        absl::StrCat("the tensor '", name, "', ", wanted, ", is missing"));
  }
  const TensorInfo& tensor = found->second;
  if (tensor.dtype == "F32" && absl::MakeConstSpan(tensor.shape) == shape) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tensor '", name, "' is ", tensor.dtype, " ",
                   ShapeText(tensor.shape), "; expected ", wanted));
}

absl::Status SafetensorsReader::Read(const std::string& name,
                                     absl::Span<const int64_t> shape,
                                     absl::Span<float> values) const {
  if (const absl::Status fits = Check(name, shape); !fits.ok()) {
    return absl::Status(fits.code(),
                        absl::StrCat(file_.path(), ": ", fits.message()));
  }
  REGARD_CHECK_EQ(ValuesIn(shape), static_cast<int64_t>(values.size()))
      << name << " " << ShapeText(shape);
  return file_.ReadAt(buffer_begin_ + header_.tensors.at(name).begin,
                      absl::MakeSpan(reinterpret_cast<char*>(values.data()),
                                     values.size() * sizeof(float)));
}

absl::Status SafetensorsReader::ReadFloats(const std::string& name,
                                           absl::Span<float> values) const {
  const TensorInfo& tensor = header_.tensors.at(name);
  REGARD_CHECK(ContainsFloats(tensor)) << name << " is " << tensor.dtype;
  REGARD_CHECK_EQ(ValuesIn(tensor.shape), static_cast<int64_t>(values.size()))
      << name << " " << ShapeText(tensor.shape);
  const auto bytes = static_cast<size_t>(tensor.end - tensor.begin);
  const absl::Span<char> all = absl::MakeSpan(
      reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
  REGARD_RETURN_IF_ERROR(
      file_.ReadAt(buffer_begin_ + tensor.begin, all.last(bytes)));
  if (tensor.dtype == "F16") Widen(&FromF16, values);
  if (tensor.dtype == "BF16") Widen(&FromBf16, values);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> SafetensorsReader::ReadNumbers(
    const std::string& name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    return absl::NotFoundError(
        absl::StrCat("the tensor '", name, "' is missing"));
  }
  const TensorInfo& tensor = found->second;
  const auto read =
      [&]<typename Stored>(Stored) -> absl::StatusOr<std::vector<double>> {
    std::vector<Stored> values((tensor.end - tensor.begin) / sizeof(Stored));
    REGARD_RETURN_IF_ERROR(
        file_.ReadAt(buffer_begin_ + tensor.begin,
                     absl::MakeSpan(reinterpret_cast<char*>(values.data()),
                                    values.size() * sizeof(Stored))));
    return std::vector<double>(values.begin(), values.end());
  };
  if (tensor.dtype == "F32") return read(float());
  if (tensor.dtype == "F64") return read(double());
  if (tensor.dtype == "I32") return read(int32_t());
  if (tensor.dtype == "I64") return read(int64_t());
  return absl::InvalidArgumentError(
      absl::StrCat("tensor '", name, "' is ", tensor.dtype,
                   "; expected F32, F64, I32 or I64"));
}

}  // namespace regard
