#include "options/config_problems.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "options/config_fields.h"
#include "options/config_options.pb.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

namespace {

// Returns the digits of a whole number. For other numbers, returns the shortest
// text that reads back as `value`, so that a float field with 0.3 prints as
// 0.3.
std::string Shortest(double value) {
  constexpr double kLargestWhole = 1e15;
  char text[32];
  char* const end = text + sizeof(text);
  const float narrow = static_cast<float>(value);
  std::to_chars_result result;
  if (std::trunc(value) == value && std::abs(value) <= kLargestWhole) {
    result = std::to_chars(text, end, value, std::chars_format::fixed);
  } else if (narrow == value) {
    result = std::to_chars(text, end, narrow);
  } else {
    result = std::to_chars(text, end, value);
  }
  return std::string(text, result.ptr);
}

struct Range {
  double min = 0;
  double max = 0;
  bool open = false;  // whether max is excluded
};

Range ReadRange(const FieldDescriptor& field) {
  const std::string text = field.options().GetExtension(range);
  Range read;
  read.open = absl::EndsWith(text, ")");
  const std::vector<std::string> bounds =
      absl::StrSplit(text, absl::ByAnyChar("[,])"));
  REGARD_CHECK(!field.is_repeated() && bounds.size() == 4 &&
               absl::SimpleAtod(bounds[1], &read.min) &&
               absl::SimpleAtod(bounds[2], &read.max))
      << field.full_name() << ": a range is of one number, \"[min, max]\" or "
      << "\"[min, max)\"; got " << text;
  return read;
}

// Returns the value of a numeric field. A reflection call of another type would
// end the program.
double NumberOf(const Message& options, const FieldDescriptor& field) {
  const Reflection& reflection = *options.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(options, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(reflection.GetInt64(options, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(options, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection.GetUInt64(options, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(options, &field);
    default:
      return reflection.GetDouble(options, &field);
  }
}

}  // namespace

ConfigProblems::Scope::Scope(ConfigProblems& problems, absl::string_view path)
    : problems_(problems), outer_(problems.scope_) {
  problems_.scope_ = problems_.AbsolutePath(path);
}

ConfigProblems::Scope::~Scope() { problems_.scope_ = std::move(outer_); }

void ConfigProblems::Add(absl::string_view path, std::string message) {
  AddWithin(path, {}, std::move(message));
}

void ConfigProblems::AddWithin(absl::string_view path, TextRange within,
                               std::string message) {
  problems_.push_back({AbsolutePath(path), std::move(message), within});
}

void ConfigProblems::Note(absl::string_view path, std::string message) {
  const std::string at = AbsolutePath(path);
  std::string note = absl::StrCat(at, at.empty() ? "" : ": ", message);
  if (std::ranges::count(notes_, note) == 0) notes_.push_back(std::move(note));
}

void ConfigProblems::RequireInRange(absl::string_view path, double value,
                                    double min, double max) {
  if (value >= min && value <= max) return;
  Add(path, absl::StrCat("must be in [", Shortest(min), ", ", Shortest(max),
                         "], got ", Shortest(value)));
}

void ConfigProblems::CheckRanges(const Message& options,
                                 absl::string_view path) {
  CheckOwnRanges(options, path);
  const Scope scope(*this, path);
  const Reflection& reflection = *options.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(options, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CheckRanges(reflection.GetMessage(options, field), FieldName(*field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(options, field); ++i) {
      CheckRanges(reflection.GetRepeatedMessage(options, field, i),
                  absl::StrCat(FieldName(*field), "[", i, "]"));
    }
  }
}

void ConfigProblems::CheckOwnRanges(const Message& options,
                                    absl::string_view path) {
  const Scope scope(*this, path);
  const Descriptor& type = *options.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!field.options().HasExtension(range)) continue;
    const Range legal = ReadRange(field);
    const double value = NumberOf(options, field);
    if (!legal.open) {
      RequireInRange(field.name(), value, legal.min, legal.max);
    } else if (!(value >= legal.min && static_cast<float>(value) < legal.max)) {
      Add(field.name(),
          absl::StrCat("must be in ", field.options().GetExtension(range),
                       ", got ", Shortest(value)));
    }
  }
}

void ConfigProblems::RequirePositive(absl::string_view path, double value) {
  if (value > 0 && std::isfinite(value)) return;
  Add(path, absl::StrCat("must be positive, got ", Shortest(value)));
}

std::string ConfigProblems::AbsolutePath(absl::string_view path) const {
  if (scope_.empty() || path.empty()) return absl::StrCat(scope_, path);
  return absl::StrCat(scope_, ".", path);
}

}  // namespace regard
