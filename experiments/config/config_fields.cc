#include "experiments/config/config_fields.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "experiments/config/field_names.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

std::string PrintedValue(const Message& message, const FieldDescriptor& field,
                         int index) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string value;
  printer.PrintFieldValueToString(message, &field, index, &value);
  return value;
}

std::vector<const FieldDescriptor*> FieldsAndExtensions(
    const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    fields.push_back(message.GetDescriptor()->field(i));
  }
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->is_extension()) fields.push_back(field);
  }
  return fields;
}

std::string FieldName(const FieldDescriptor& field) {
  if (!field.is_extension()) return field.name();
  return absl::StrCat("[", field.full_name(), "]");
}

namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// `index` is -1 but for an element of a list.
std::string TextOf(const Message& message, const FieldDescriptor& field,
                   int index) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return PrintedValue(message, field, index);
  }
  const Reflection& fields = *message.GetReflection();
  return index < 0 ? fields.GetString(message, &field)
                   : fields.GetRepeatedString(message, &field, index);
}

std::variant<double, bool, std::string> ValueOf(const Message& message,
                                                const FieldDescriptor& field,
                                                int index) {
  const std::string text = TextOf(message, field, index);
  double number = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_ENUM:
      return text;
    case FieldDescriptor::CPPTYPE_BOOL:
      return text == "true";
    default:
      // It has just been printed; infinities and NaN can be read as well.
      REGARD_CHECK(absl::SimpleAtod(text, &number)) << text;
      return number;
  }
}

void AppendFields(const Message& message, const std::string& path,
                  std::vector<ConfigLeaf>* leaves);

void AppendOne(const Message& message, const FieldDescriptor& field, int index,
               const std::string& path, std::vector<ConfigLeaf>* leaves) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    leaves->push_back({path, ValueOf(message, field, index)});
    return;
  }
  const Reflection& fields = *message.GetReflection();
  AppendFields(index < 0 ? fields.GetMessage(message, &field)
                         : fields.GetRepeatedMessage(message, &field, index),
               path, leaves);
}

void AppendFields(const Message& message, const std::string& path,
                  std::vector<ConfigLeaf>* leaves) {
  const Reflection& fields = *message.GetReflection();
  for (const FieldDescriptor* field : FieldsAndExtensions(message)) {
    const std::string field_path = JoinFieldPath(path, FieldName(*field));
    if (field->is_repeated()) {
      for (int i = 0; i < fields.FieldSize(message, field); ++i) {
        AppendOne(message, *field, i, absl::StrCat(field_path, "[", i, "]"),
                  leaves);
      }
      continue;
    }
    const auto* oneof = field->real_containing_oneof();
    if (fields.HasField(message, field)) {
      if (oneof != nullptr) {
        leaves->push_back(
            {JoinFieldPath(path, oneof->name()), FieldName(*field)});
      }
      AppendOne(message, *field, -1, field_path, leaves);
    } else if (oneof == nullptr && field->has_default_value()) {
      AppendOne(message, *field, -1, field_path, leaves);
    }
  }
}

}  // namespace

std::vector<ConfigLeaf> ConfigLeaves(const Message& config) {
  std::vector<ConfigLeaf> leaves;
  AppendFields(config, "", &leaves);
  return leaves;
}

}  // namespace regard
