#include "experiments/config/override.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"
#include "experiments/config/field_names.h"
#include "experiments/config/text_parser.h"
#include "experiments/config/value_check.h"
#include "files/utf8.h"
#include "google/protobuf/descriptor.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

// Walks the path of one argument, then sets its last field.
class Override {
 public:
  Override(const std::string& argument, Message* message)
      : argument_(argument), message_(message) {}

  CheckedText Apply() {
    const size_t equals = argument_.find('=');
    if (equals == std::string::npos) {
      Problem({0, argument_.size()}, "expected path=value");
      return std::move(checked_);
    }
    const absl::string_view path =
        absl::string_view(argument_).substr(0, equals);
    std::vector<PathStep> steps = SplitPath(path);
    for (size_t i = 0; i < steps.size(); ++i) {
      const FieldDescriptor* field = Resolve(steps[i]);
      if (field == nullptr) return std::move(checked_);
      if (!field->is_extension()) steps[i].name = field->name();
      if (i + 1 == steps.size()) {
        Set(*field, steps[i], equals + 1);
      } else if (!Descend(*field, steps[i])) {
        return std::move(checked_);
      }
    }
    return std::move(checked_);
  }

 private:
  void Problem(TextRange range, std::string message) {
    checked_.problems.push_back({range, std::move(message)});
  }

  // The field of a step, whose element exists if it names one.
  const FieldDescriptor* Resolve(const PathStep& step) {
    const FieldDescriptor* field =
        FindField(*message_->GetDescriptor(), step.name);
    if (field == nullptr) {
      Problem(step.range, NoSuchField(*message_->GetDescriptor(), step.name));
      return nullptr;
    }
    if (!step.index.has_value()) return field;
    if (!field->is_repeated()) {
      Problem(step.range,
              absl::StrCat("'", field->name(), "' is not repeated"));
      return nullptr;
    }
    const int size = message_->GetReflection()->FieldSize(*message_, field);
    if (*step.index < size) return field;
    Problem(step.range, absl::StrCat("'", field->name(), "' has ", size,
                                     size == 1 ? " element" : " elements",
                                     ", counted from 0"));
    return nullptr;
  }

  bool Descend(const FieldDescriptor& field, PathStep step) {
    if (!IsMessage(field)) {
      Problem(step.range,
              absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                           ", so nothing is inside it"));
      return false;
    }
    const Reflection& fields = *message_->GetReflection();
    if (field.is_repeated()) {
      if (!step.index.has_value()) {
        // The only element needs no index, and comes into being as needed.
        const int size = fields.FieldSize(*message_, &field);
        if (size > 1) {
          Problem(step.range, absl::StrCat("'", field.name(), "' has ", size,
                                           " elements: write ", step.name,
                                           "[0] for its first"));
          return false;
        }
        step.index = 0;
        if (size == 0) {
          fields.AddMessage(message_, &field);
          checked_.mentions.push_back(MentionOf(field, step));
        }
      }
      message_ = fields.MutableRepeatedMessage(message_, &field, *step.index);
    } else {
      // What is there keeps its place: only a field inside it changes.
      if (!fields.HasField(*message_, &field)) {
        checked_.mentions.push_back(MentionOf(field, step));
      }
      message_ = fields.MutableMessage(message_, &field);
    }
    parent_ = JoinFieldPath(parent_, StepName(step));
    return true;
  }

  static std::string StepName(const PathStep& step) {
    if (!step.index.has_value()) return step.name;
    return absl::StrCat(step.name, "[", *step.index, "]");
  }

  Mention MentionOf(const FieldDescriptor& field, const PathStep& step) const {
    return {parent_, StepName(step), &field, step.range,
            field.is_repeated() && !step.index.has_value()};
  }

  // A string may go without quotes: `data.path=fra.txt`.
  static bool IsBare(const FieldDescriptor& field, absl::string_view value) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return false;
    const absl::string_view start = absl::StripLeadingAsciiWhitespace(value);
    if (start.empty()) return true;
    return start[0] != '"' && start[0] != '\'' &&
           !(field.is_repeated() && start[0] == '[');
  }

  void Set(const FieldDescriptor& field, const PathStep& step, size_t begin) {
    std::string value = argument_.substr(begin);
    Mention mention = MentionOf(field, step);
    if (IsBare(field, value)) {
      const std::optional<int64_t> invalid = FindInvalidUtf8(value);
      if (invalid.has_value()) {
        Problem({begin + static_cast<size_t>(*invalid), 1},
                absl::StrCat("the value of '", field.name(),
                             "' is not valid UTF-8"));
        return;
      }
      checked_.mentions.push_back(std::move(mention));
      value = absl::StrCat("\"", absl::CEscape(value), "\"");
    } else {
      CheckedText checked = CheckValue(argument_, begin, std::move(mention));
      value = checked.WithPresentNames(argument_, begin);
      checked_.problems = std::move(checked.problems);
      checked_.mentions.insert(checked_.mentions.end(),
                               checked.mentions.begin(),
                               checked.mentions.end());
    }
    if (checked_.problems.empty()) Write(field, step, begin, value);
  }

  // Parses into a message of its own and moves the field over.
  void Write(const FieldDescriptor& field, const PathStep& step, size_t begin,
             const std::string& value) {
    const std::unique_ptr<Message> one(message_->New());
    std::optional<TextProblem> problem =
        ParseText(absl::StrCat(step.name, ": ", value), one.get());
    if (problem.has_value()) {
      Problem({begin, argument_.size() - begin}, problem->message);
      return;
    }
    const Reflection& fields = *message_->GetReflection();
    if (!step.index.has_value()) {
      if (field.is_repeated()) fields.ClearField(message_, &field);
      Combine(*one, message_);
      return;
    }
    if (IsMessage(field)) {
      Combine(fields.GetRepeatedMessage(*one, &field, 0),
              fields.MutableRepeatedMessage(message_, &field, *step.index));
      return;
    }
    // Reflection sets elements type by type; appending and swapping does not
    // care.
    message_->MergeFrom(*one);
    fields.SwapElements(message_, &field, *step.index,
                        fields.FieldSize(*message_, &field) - 1);
    fields.RemoveLast(message_, &field);
  }

  const std::string& argument_;
  Message* message_;  // that the path has reached
  std::string parent_;
  CheckedText checked_;
};

}  // namespace

CheckedText ApplyOverride(const std::string& argument, Message* message) {
  return Override(argument, message).Apply();
}

namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Clears the repeated fields of `message` that `overlay` has.
void MakeRoom(const Message& overlay, Message* message) {
  const Reflection& overlay_fields = *overlay.GetReflection();
  const Reflection& fields = *message->GetReflection();
  std::vector<const FieldDescriptor*> present;
  overlay_fields.ListFields(overlay, &present);
  for (const FieldDescriptor* field : present) {
    if (field->is_repeated()) {
      fields.ClearField(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               fields.HasField(*message, field)) {
      MakeRoom(overlay_fields.GetMessage(overlay, field),
               fields.MutableMessage(message, field));
    }
  }
}

}  // namespace

void Combine(const Message& overlay, Message* message) {
  MakeRoom(overlay, message);
  message->MergeFrom(overlay);
}

void ClearList(absl::string_view path, Message* message) {
  const std::vector<PathStep> steps = SplitPath(path);
  for (const PathStep& step : steps) {
    const FieldDescriptor* field =
        FindField(*message->GetDescriptor(), step.name);
    if (field == nullptr || step.index.has_value()) return;
    const Reflection& fields = *message->GetReflection();
    if (field->is_repeated()) {
      fields.ClearField(message, field);
      return;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        !fields.HasField(*message, field)) {
      return;
    }
    message = fields.MutableMessage(message, field);
  }
}

}  // namespace regard
