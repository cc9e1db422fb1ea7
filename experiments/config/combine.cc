#include "experiments/config/combine.h"

#include <vector>

#include "experiments/config/field_names.h"
#include "experiments/config/field_path.h"
#include "google/protobuf/descriptor.h"

namespace regard {
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
