#include "experiments/config/resolved.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/config/field_names.h"
#include "experiments/config/printed_value.h"
#include "google/protobuf/descriptor.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

class Writer {
 public:
  explicit Writer(const ConfigOrigins& origins) : origins_(origins) {}

  // The fields of the message at `path`.
  void WriteFields(const Message& message, const std::string& path) {
    const Reflection& fields = *message.GetReflection();
    for (const FieldDescriptor* field : FieldsAndExtensions(message)) {
      const std::string field_path = JoinFieldPath(path, FieldName(*field));
      if (field->is_repeated()) {
        for (int i = 0; i < fields.FieldSize(message, field); ++i) {
          WriteOne(message, *field, i, absl::StrCat(field_path, "[", i, "]"));
        }
      } else if (fields.HasField(message, field)) {
        WriteOne(message, *field, -1, field_path);
      } else if (field_path != kBaseField) {
        WriteAbsent(message, *field);
      }
    }
  }

  std::string TakeText() { return std::move(text_); }

 private:
  void WriteOne(const Message& message, const FieldDescriptor& field, int index,
                const std::string& path) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      WriteLine(absl::StrCat(FieldName(field), ": ",
                             PrintedValue(message, field, index)),
                origins_.Find(path).value_or("default"));
      return;
    }
    const Reflection& fields = *message.GetReflection();
    WriteLine(absl::StrCat(FieldName(field), " {"),
              origins_.Find(path).value_or("default"));
    indent_ += "  ";
    WriteFields(index < 0 ? fields.GetMessage(message, &field)
                          : fields.GetRepeatedMessage(message, &field, index),
                path);
    indent_.resize(indent_.size() - 2);
    absl::StrAppend(&text_, indent_, "}\n");
  }

  void WriteAbsent(const Message& message, const FieldDescriptor& field) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return;
    if (field.real_containing_oneof() != nullptr) return;
    // A zero that is set may mean something else than nothing set.
    WriteLine(
        absl::StrCat(field.has_default_value() ? "" : "# ", FieldName(field),
                     ": ", PrintedValue(message, field, -1)),
        field.has_default_value() ? "default" : "not set");
  }

  void WriteLine(absl::string_view line, absl::string_view origin) {
    absl::StrAppend(&text_, indent_, line, "  # ", origin, "\n");
  }

  const ConfigOrigins& origins_;
  std::string indent_;
  std::string text_;
};

}  // namespace

std::string ResolvedConfig(const Message& config,
                           const ConfigOrigins& origins) {
  Writer writer(origins);
  writer.WriteFields(config, "");
  return absl::StrCat(
      "# proto-file: ", config.GetDescriptor()->file()->name(),
      "\n# proto-message: ", config.GetDescriptor()->full_name(), "\n\n",
      writer.TakeText());
}

}  // namespace regard
