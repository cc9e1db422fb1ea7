#include "experiments/config/override.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/config/config_fields.h"
#include "experiments/config/field_names.h"
#include "experiments/config/field_value.h"
#include "experiments/config/text_reader.h"
#include "files/utf8.h"
#include "google/protobuf/descriptor.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

// What keeps `step`, which is not the last one if `has_inner`, from leading to
// `field` of `message`.
std::optional<std::string> FindStepProblem(const FieldDescriptor* field,
                                           const PathStep& step, bool has_inner,
                                           const Message& message) {
  if (field == nullptr) {
    return NoSuchField(*message.GetDescriptor(), step.name);
  }
  if (step.index.has_value() && !field->is_repeated()) {
    return absl::StrCat("'", field->name(), "' is not repeated");
  }
  const int size = field->is_repeated()
                       ? message.GetReflection()->FieldSize(message, field)
                       : 1;
  if (step.index.has_value() && *step.index >= size) {
    return absl::StrCat("'", field->name(), "' has ", size,
                        size == 1 ? " element" : " elements",
                        ", counted from 0");
  }
  if (!has_inner) return std::nullopt;
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::StrCat("'", field->name(), "' takes ", DescribeType(*field),
                        ", so nothing is inside it");
  }
  if (!step.index.has_value() && size > 1) {
    return absl::StrCat("'", field->name(), "' has ", size, " elements: write ",
                        FieldName(*field), "[0] for its first");
  }
  return std::nullopt;
}

// The message that `assignment` leads into. What is there keeps its place: only
// a field inside it changes.
Message* Enter(FieldAssignment* assignment, Message* message,
               ConfigOrigins* origins) {
  const FieldDescriptor* field = assignment->field;
  const auto& fields = *message->GetReflection();
  bool is_there;
  if (field->is_repeated()) {
    // The only element needs no index.
    if (!assignment->index.has_value()) assignment->index = 0;
    is_there = *assignment->index < fields.FieldSize(*message, field);
  } else {
    is_there = fields.HasField(*message, field);
  }
  if (!is_there) origins->Note(*assignment);
  return MutableField(*field, assignment->index, message);
}

// A string may go without quotes: `data.path=fra.txt`.
bool IsBare(const FieldAssignment& assignment, absl::string_view value) {
  if (assignment.field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return false;
  }
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(value);
  if (start.empty()) return true;
  return start[0] != '"' && start[0] != '\'' &&
         !(assignment.field->is_repeated() && start[0] == '[');
}

}  // namespace

std::vector<TextProblem> ApplyOverride(const std::string& argument,
                                       Message* message,
                                       ConfigOrigins* origins) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) {
    return {{{0, argument.size()}, "expected path=value"}};
  }
  const std::vector<PathStep> steps =
      SplitPath(absl::string_view(argument).substr(0, equals));
  FieldAssignment assignment;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) {
      message = Enter(&assignment, message, origins);
      assignment.parent = assignment.Path();
    }
    const PathStep& step = steps[i];
    const FieldDescriptor* field =
        FindField(*message->GetDescriptor(), step.name);
    std::optional<std::string> problem =
        FindStepProblem(field, step, i + 1 < steps.size(), *message);
    if (problem.has_value()) return {{step.range, *std::move(problem)}};
    assignment.field = field;
    assignment.index = step.index;
    assignment.range = step.range;
  }
  const size_t begin = equals + 1;
  const std::string value = argument.substr(begin);
  if (!IsBare(assignment, value)) {
    return ReadValue(argument, begin, assignment, message, origins);
  }
  if (const std::optional<int64_t> invalid = FindInvalidUtf8(value)) {
    return {{{begin + static_cast<size_t>(*invalid), 1},
             absl::StrCat("the value of '", assignment.field->name(),
                          "' is not valid UTF-8")}};
  }
  origins->Note(assignment);
  if (assignment.is_list()) {
    message->GetReflection()->ClearField(message, assignment.field);
    assignment.index = 0;
    origins->Note(assignment);
  }
  StoreFieldValue({.text = value}, *assignment.field, assignment.index,
                  message);
  return {};
}

}  // namespace regard
