#include "experiments/config/resolved.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "experiments/config/config_fields.h"
#include "experiments/config/field_names.h"
#include "google/protobuf/descriptor.h"
#include "nn/config_options.pb.h"

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
    const bool outer = overlay_;
    overlay_ |= field.options().GetExtension(overlay);
    WriteFields(index < 0 ? fields.GetMessage(message, &field)
                          : fields.GetRepeatedMessage(message, &field, index),
                path);
    overlay_ = outer;
    indent_.resize(indent_.size() - 2);
    absl::StrAppend(&text_, indent_, "}\n");
  }

  void WriteAbsent(const Message& message, const FieldDescriptor& field) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return;
    if (field.real_containing_oneof() != nullptr) return;
    // Its value is that of the message below.
    if (overlay_) return;
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
  bool overlay_ = false;  // within a message that is merged over another one
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

namespace {

constexpr absl::string_view kMessage = "{...}";
constexpr absl::string_view kNotSet = "not set";

// The line without its comment: a # that is in no string.
absl::string_view WithoutComment(absl::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == quote) {
        quote = 0;
      }
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

// The values of each path; a list has several.
std::map<std::string, std::vector<std::string>> ByPath(
    const std::vector<ResolvedField>& fields) {
  std::map<std::string, std::vector<std::string>> values;
  for (const ResolvedField& field : fields) {
    values[field.path].push_back(field.value);
  }
  return values;
}

// "{width: 8 layers {...}}" with full paths cut to what is below `message`.
std::string MessageText(const std::vector<ResolvedField>& fields,
                        const std::string& message) {
  std::vector<std::string> inner;
  for (const ResolvedField& field : fields) {
    if (!absl::StartsWith(field.path, message + ".")) continue;
    if (field.value == kMessage) continue;
    inner.push_back(
        absl::StrCat(field.path.substr(message.size() + 1), ": ", field.value));
  }
  return absl::StrCat("{", absl::StrJoin(inner, " "), "}");
}

bool Below(absl::string_view path, absl::string_view message) {
  return absl::StartsWith(path, absl::StrCat(message, "."));
}

}  // namespace

absl::StatusOr<std::vector<ResolvedField>> ParseResolvedFields(
    absl::string_view text) {
  std::vector<ResolvedField> fields;
  std::vector<std::string> messages;  // paths of those that are open
  int number = 0;
  const auto bad_line = [&number] {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number, " is not one of a resolved config"));
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(WithoutComment(line));
    if (line.empty()) continue;
    if (line == "}") {
      if (messages.empty()) return bad_line();
      messages.pop_back();
      continue;
    }
    const std::string parent =
        messages.empty() ? "" : absl::StrCat(messages.back(), ".");
    if (absl::ConsumeSuffix(&line, " {")) {
      messages.push_back(absl::StrCat(parent, line));
      fields.push_back({messages.back(), std::string(kMessage)});
      continue;
    }
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (parts.size() != 2) return bad_line();
    fields.push_back({absl::StrCat(parent, parts[0]), parts[1]});
  }
  if (!messages.empty()) return bad_line();
  return fields;
}

std::vector<FieldDifference> DiffResolvedFields(
    const std::vector<ResolvedField>& before,
    const std::vector<ResolvedField>& after) {
  const auto old_values = ByPath(before);
  const auto new_values = ByPath(after);
  // The union of paths: merging keeps what is there.
  auto paths = old_values;
  paths.insert(new_values.begin(), new_values.end());

  const auto text = [](const auto& values, const std::string& path,
                       const std::vector<ResolvedField>& fields) {
    const auto found = values.find(path);
    if (found == values.end()) return std::string(kNotSet);
    if (found->second.size() == 1 && found->second[0] == kMessage) {
      return MessageText(fields, path);
    }
    return absl::StrJoin(found->second, ", ");
  };
  std::vector<FieldDifference> differences;
  std::optional<std::string> one_sided;  // message that one side lacks
  for (const auto& [path, values] : paths) {
    if (one_sided.has_value() && Below(path, *one_sided)) continue;
    const auto old_value = old_values.find(path);
    const auto new_value = new_values.find(path);
    const bool in_both =
        old_value != old_values.end() && new_value != new_values.end();
    if (in_both && old_value->second == new_value->second) continue;
    if (!in_both && values[0] == kMessage) one_sided = path;
    differences.push_back(
        {path, text(old_values, path, before), text(new_values, path, after)});
  }
  return differences;
}

}  // namespace regard
