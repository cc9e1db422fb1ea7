#include "experiments/config/printed_value.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"

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

}  // namespace regard
