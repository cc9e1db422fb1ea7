#include "files/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr char kSyntax[] = "InvalidHeaderDeserialization";
constexpr char kMetadataKey[] = "__metadata__";

std::string Quoted(absl::string_view name) {
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(name), "'");
}

// Bytes of a value, 0 for a type that is not known.
int64_t BytesOf(absl::string_view dtype) {
  static constexpr std::array<std::pair<absl::string_view, int64_t>, 16>
      kTypes = {{{"BOOL", 1},
                 {"U8", 1},
                 {"I8", 1},
                 {"F8_E4M3", 1},
                 {"F8_E5M2", 1},
                 {"F8_E8M0", 1},
                 {"I16", 2},
                 {"U16", 2},
                 {"F16", 2},
                 {"BF16", 2},
                 {"I32", 4},
                 {"U32", 4},
                 {"F32", 4},
                 {"I64", 8},
                 {"U64", 8},
                 {"F64", 8}}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return dtype == "C64" ? 8 : 0;
}

// Fills a header from the parser's events. A document tree would be simpler,
// but in a tree the second of two equal keys silently replaces the first, and
// two readers then see two different files.
class HeaderBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader& header() { return header_; }
  const std::string& error() const { return error_; }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("a truth value"); }
  bool number_integer(number_integer_t) override {
    return Unexpected("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return Unexpected("a fraction or a number too large");
  }
  bool binary(binary_t&) override { return Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected("a number");
    }
    if (value > std::numeric_limits<int64_t>::max()) {
      return Fail("ValidationOverflow",
                  absl::StrCat("tensor ", Quoted(name_), ": ", value,
                               " is past the range of 64-bit integers"));
    }
    (place_ == Place::kShape ? tensor_.shape : offsets_)
        .push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[field_] = value;
      return true;
    }
    if (place_ != Place::kTensor || field_ != "dtype") {
      return Unexpected("a string");
    }
    if (BytesOf(value) == 0) {
      return Fail(kSyntax, absl::StrCat("tensor ", Quoted(name_),
                                        ": unknown dtype ", Quoted(value)));
    }
    tensor_.dtype = value;
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kHeader;
    } else if (place_ != Place::kHeader) {
      return Unexpected("an object");
    } else if (name_ == kMetadataKey) {
      place_ = Place::kMetadata;
    } else {
      place_ = Place::kTensor;
      tensor_ = TensorInfo();
      offsets_.clear();
      seen_.clear();
    }
    return true;
  }

  bool key(string_t& key) override {
    if (place_ == Place::kHeader) {
      name_ = key;
      if (key == kMetadataKey ? std::exchange(has_metadata_, true)
                              : header_.tensors.count(key) > 0) {
        return Fail(kSyntax, absl::StrCat(Quoted(key), " occurs twice"));
      }
      return true;
    }
    field_ = key;
    const bool known = place_ == Place::kMetadata || key == "dtype" ||
                       key == "shape" || key == "data_offsets";
    if (!known) return Unexpected(absl::StrCat("the field ", Quoted(key)));
    const bool again = place_ == Place::kMetadata
                           ? header_.metadata.count(key) > 0
                           : !seen_.insert({key, true}).second;
    if (again) return Unexpected(absl::StrCat(Quoted(key), " a second time"));
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) return EndTensor();
    place_ = place_ == Place::kMetadata ? Place::kHeader : Place::kOutside;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || field_ == "dtype") {
      return Unexpected("an array");
    }
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail(kSyntax, absl::StrCat("byte ", position, ": not JSON"));
  }

 private:
  enum class Place {
    kOutside,
    kHeader,
    kMetadata,
    kTensor,
    kShape,
    kOffsets,
  };

  bool EndTensor() {
    if (seen_.size() != 3) {
      return Fail(kSyntax,
                  absl::StrCat("tensor ", Quoted(name_),
                               ": needs dtype, shape and data_offsets"));
    }
    if (offsets_.size() != 2) {
      return Fail(kSyntax,
                  absl::StrCat("tensor ", Quoted(name_), ": data_offsets has ",
                               offsets_.size(), " numbers, not 2"));
    }
    if (header_.tensors.size() == kMaxSafetensorsTensors) {
      return Fail(
          "HeaderTooLarge",
          absl::StrCat("more than ", kMaxSafetensorsTensors, " tensors"));
    }
    tensor_.begin = offsets_[0];
    tensor_.end = offsets_[1];
    header_.tensors[name_] = std::move(tensor_);
    place_ = Place::kHeader;
    return true;
  }

  bool Fail(absl::string_view kind, absl::string_view message) {
    error_ = absl::StrCat(kind, ": ", message);
    return false;
  }

  bool Unexpected(absl::string_view what) {
    if (place_ == Place::kOutside) {
      return Fail(kSyntax, absl::StrCat("is ", what, ", not an object"));
    }
    return Fail(kSyntax,
                absl::StrCat("in ", Quoted(name_), ": unexpected ", what));
  }

  SafetensorsHeader header_;
  Place place_ = Place::kOutside;
  bool has_metadata_ = false;
  std::string name_;   // last key of the header
  std::string field_;  // last key within that
  TensorInfo tensor_;
  std::vector<int64_t> offsets_;
  std::map<std::string, bool> seen_;
  std::string error_;
};

// Bytes that dtype and shape ask for; an overflow anywhere is an error, even
// when a later 0 would make the product 0, as in the reference.
absl::StatusOr<int64_t> BytesFor(const std::string& name,
                                 const TensorInfo& tensor) {
  int64_t bytes = 1;
  for (const int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("ValidationOverflow: tensor ", Quoted(name),
                       ": the shape's product is past 64 bits"));
    }
  }
  if (__builtin_mul_overflow(bytes, BytesOf(tensor.dtype), &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ValidationOverflow: tensor ", Quoted(name),
                     ": its bytes are past 64 bits"));
  }
  return bytes;
}

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
      return absl::InvalidArgumentError(
          absl::StrCat("InvalidOffset: tensor ", Quoted(name),
                       ": data_offsets [", tensor.begin, ", ", tensor.end,
                       "], but the tensors before it end at ", covered));
    }
    REGARD_ASSIGN_OR_RETURN(const int64_t bytes, BytesFor(name, tensor));
    if (tensor.end - tensor.begin != bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorInvalidInfo: tensor ", Quoted(name), ": ",
                       tensor.end - tensor.begin,
                       " bytes, but dtype and shape ask for ", bytes));
    }
    covered = tensor.end;
  }
  if (covered != buffer_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "MetadataIncompleteBuffer: the tensors cover ", covered,
        " bytes, the file holds ", buffer_bytes, " after its header"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text,
                                                         int64_t buffer_bytes) {
  if (FindInvalidUtf8(text).has_value()) {
    return absl::InvalidArgumentError("InvalidHeader: not UTF-8");
  }
  // The format's rule, which also keeps out a byte-order mark.
  if (text.empty() || text.front() != '{') {
    return absl::InvalidArgumentError(
        "InvalidHeaderStart: does not begin with '{'");
  }
  HeaderBuilder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return absl::InvalidArgumentError(builder.error());
  }
  REGARD_RETURN_IF_ERROR(CheckOffsets(builder.header(), buffer_bytes));
  return std::move(builder.header());
}

}  // namespace regard
