#include "experiments/config/diff.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/config/config_text.h"
#include "experiments/config/field_names.h"
#include "experiments/config/printed_value.h"
#include "google/protobuf/descriptor.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr int kShownCharacters = 60;
constexpr char kAbsent[] = "not set";

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

bool Has(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& fields = *message.GetReflection();
  if (index >= 0) return index < fields.FieldSize(message, &field);
  return fields.HasField(message, &field);
}

// What a field or element amounts to, as text.
std::string Value(const Message& message, const FieldDescriptor& field,
                  int index) {
  if (!Has(message, field, index)) {
    const bool has_default =
        field.has_default_value() && field.real_containing_oneof() == nullptr;
    if (!has_default) return kAbsent;
  }
  if (IsMessage(field)) return "{...}";
  return PrintedValue(message, field, index);
}

const Message& Inside(const Message& message, const FieldDescriptor& field,
                      int index) {
  const Reflection& fields = *message.GetReflection();
  return index < 0 ? fields.GetMessage(message, &field)
                   : fields.GetRepeatedMessage(message, &field, index);
}

class Comparison {
 public:
  void CompareFields(const Message& before, const Message& after,
                     const std::string& path) {
    std::vector<const FieldDescriptor*> all = FieldsAndExtensions(before);
    for (const FieldDescriptor* field : FieldsAndExtensions(after)) {
      if (std::find(all.begin(), all.end(), field) == all.end()) {
        all.push_back(field);
      }
    }
    for (const FieldDescriptor* field : all) {
      const std::string field_path = JoinFieldPath(path, FieldName(*field));
      if (!field->is_repeated()) {
        CompareOne(before, after, *field, -1, field_path);
        continue;
      }
      const int size =
          std::max(before.GetReflection()->FieldSize(before, field),
                   after.GetReflection()->FieldSize(after, field));
      for (int i = 0; i < size; ++i) {
        CompareOne(before, after, *field, i,
                   absl::StrCat(field_path, "[", i, "]"));
      }
    }
  }

  std::vector<ConfigDifference> TakeDifferences() {
    return std::move(differences_);
  }

 private:
  void CompareOne(const Message& before, const Message& after,
                  const FieldDescriptor& field, int index,
                  const std::string& path) {
    if (IsMessage(field) && Has(before, field, index) &&
        Has(after, field, index)) {
      CompareFields(Inside(before, field, index), Inside(after, field, index),
                    path);
      return;
    }
    const std::string old_value = Value(before, field, index);
    const std::string new_value = Value(after, field, index);
    if (old_value == new_value) return;
    differences_.push_back({path, Printable(old_value, kShownCharacters),
                            Printable(new_value, kShownCharacters)});
  }

  std::vector<ConfigDifference> differences_;
};

}  // namespace

std::vector<ConfigDifference> DiffConfigs(const Message& before,
                                          const Message& after) {
  Comparison comparison;
  comparison.CompareFields(before, after, "");
  return comparison.TakeDifferences();
}

}  // namespace regard
