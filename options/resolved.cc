#include "options/resolved.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/text_format.h"
#include "options/config_fields.h"
#include "options/config_options.pb.h"
#include "options/config_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr absl::string_view kMessage = "{...}";
constexpr absl::string_view kNotSet = "not set";

// A field of a config, which may be unset, or an element of a list.
struct ConfigField {
  const FieldDescriptor* field = nullptr;
  int depth = 0;
  bool in_overlay = false;  // whether a message around it is an overlay
  bool is_set = false;
  std::string parent = {};  // path of the message around it
  std::string path = {};    // path for `--set`
  std::string value = {};   // the default if not set

  bool is_message() const {
    return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  }
  bool is_default() const {
    return !is_set && field->has_default_value() &&
           field->real_containing_oneof() == nullptr;
  }
};

// Appends the fields of `message`, which is the value of the field `around`, in
// the order of declaration. Each message precedes its fields.
void AppendFields(const Message& message, const ConfigField& around,
                  std::vector<ConfigField>* list) {
  const Reflection& fields = *message.GetReflection();
  for (const FieldDescriptor* field : FieldsAndExtensions(message)) {
    const int size =
        field->is_repeated() ? fields.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      ConfigField one = around;
      one.field = field;
      one.parent = around.path;
      one.path = JoinFieldPath(around.path, FieldName(*field));
      if (field->is_repeated()) absl::StrAppend(&one.path, "[", i, "]");
      one.is_set = field->is_repeated() || fields.HasField(message, field);
      const int index = field->is_repeated() ? i : -1;
      one.value = one.is_message() ? std::string(kMessage)
                                   : PrintedValue(message, *field, index);
      list->push_back(one);
      if (!one.is_message() || !one.is_set) continue;
      ++one.depth;
      one.in_overlay |= field->options().GetExtension(overlay);
      AppendFields(index < 0 ? fields.GetMessage(message, field)
                             : fields.GetRepeatedMessage(message, field, i),
                   one, list);
    }
  }
}

std::vector<ConfigField> FieldsOf(const Message& config) {
  std::vector<ConfigField> list;
  AppendFields(config, {}, &list);
  return list;
}

std::variant<double, bool, std::string> ValueOf(const ConfigField& one) {
  double number = 0;
  std::string text = one.value;
  switch (one.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      REGARD_CHECK(
          absl::CUnescape(one.value.substr(1, one.value.size() - 2), &text))
          << one.value;
      return text;
    case FieldDescriptor::CPPTYPE_ENUM:
      return text;
    case FieldDescriptor::CPPTYPE_BOOL:
      return text == "true";
    default:
      // The text was printed from a number. SimpleAtod() can also read
      // infinities and NaN.
      REGARD_CHECK(absl::SimpleAtod(text, &number)) << text;
      return number;
  }
}

// Returns the message fields[*i] as "{width: 8 layers {heads: 2}}". Advances *i
// to the last field of this message.
std::string MessageText(const std::vector<ResolvedField>& fields, size_t* i) {
  const std::string prefix = absl::StrCat(fields[*i].path, ".");
  std::vector<std::string> inner;
  while (*i + 1 < fields.size() &&
         absl::StartsWith(fields[*i + 1].path, prefix)) {
    const ResolvedField& field = fields[++*i];
    const bool is_message = field.value == kMessage;
    inner.push_back(
        absl::StrCat(field.path.substr(prefix.size()), is_message ? " " : ": ",
                     is_message ? MessageText(fields, i) : field.value));
  }
  return absl::StrCat("{", absl::StrJoin(inner, " "), "}");
}

// Returns the values by path, with the values of a list joined. A message whose
// path is in `whole` is one value, and its fields have no entries.
std::map<std::string, std::string> ByPath(
    const std::vector<ResolvedField>& fields,
    const std::set<std::string>& whole) {
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto& [path, value, origin] = fields[i];
    const std::string text =
        whole.count(path) > 0 ? MessageText(fields, &i) : value;
    const auto [joined, is_new] = values.emplace(path, text);
    if (!is_new) absl::StrAppend(&joined->second, ", ", text);
  }
  return values;
}

// Returns the path of the message around `path`, which is the longest path in
// `values` that contains `path`. Returns "" if `values` has no such path.
std::string ParentPath(const std::string& path,
                       const std::map<std::string, std::string>& values) {
  std::string parent = path;
  do {
    const size_t dot = parent.rfind('.');
    parent.resize(dot == std::string::npos ? 0 : dot);
  } while (!parent.empty() && values.count(parent) == 0);
  return parent;
}

// Parses a resolved config. Unless `lines` is null, sets it to the line of each
// field, counted from 0.
absl::StatusOr<std::vector<ResolvedField>> ParseFields(
    absl::string_view text, std::vector<size_t>* lines) {
  std::vector<ResolvedField> fields;
  std::vector<std::string> messages;  // paths of the open messages
  int number = 0;
  const auto bad_line = [&number] {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number, " is not valid in a resolved config"));
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    // Tokenize() skips comments, so the text after the last token is the
    // comment.
    std::vector<TextProblem> problems;
    const std::vector<Token> tokens = Tokenize(line, 0, &problems);
    if (tokens.size() < 2) continue;
    const TextRange last = tokens[tokens.size() - 2].range;
    absl::string_view comment =
        absl::StripAsciiWhitespace(line.substr(last.begin + last.length));
    absl::ConsumePrefix(&comment, "# ");
    const std::string origin(comment);
    line = absl::StripAsciiWhitespace(line.substr(0, last.begin + last.length));
    if (line == "}") {
      if (messages.empty()) return bad_line();
      messages.pop_back();
      continue;
    }
    if (lines != nullptr) lines->push_back(number - 1);
    const std::string parent =
        messages.empty() ? "" : absl::StrCat(messages.back(), ".");
    if (absl::ConsumeSuffix(&line, " {")) {
      messages.push_back(absl::StrCat(parent, line));
      fields.push_back({messages.back(), std::string(kMessage), origin});
      continue;
    }
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (parts.size() != 2) return bad_line();
    fields.push_back({absl::StrCat(parent, parts[0]), parts[1], origin});
  }
  if (!messages.empty()) return bad_line();
  return fields;
}

}  // namespace

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

std::string ResolvedConfig(const Message& config,
                           const ConfigOrigins& origins) {
  std::string text = absl::StrCat(
      "# proto-file: ", config.GetDescriptor()->file()->name(),
      "\n# proto-message: ", config.GetDescriptor()->full_name(), "\n\n");
  int depth = 0;
  const auto close_to = [&text, &depth](int outer) {
    while (depth > outer) {
      absl::StrAppend(&text, std::string(2 * --depth, ' '), "}\n");
    }
  };
  for (const ConfigField& one : FieldsOf(config)) {
    // Unset fields of an overlay take the values of the message into which the
    // overlay is merged.
    const bool is_shown =
        one.is_set || !(one.is_message() || one.in_overlay ||
                        one.field->real_containing_oneof() != nullptr ||
                        one.path == kBaseField);
    if (!is_shown) continue;
    close_to(one.depth);
    // A scalar without a default is shown in a comment. An unset field may have
    // another meaning than a field with the shown value, such as 0.
    const bool is_absent = !one.is_set && !one.is_default();
    absl::StrAppend(
        &text, std::string(2 * depth, ' '), is_absent ? "# " : "",
        FieldName(*one.field), one.is_message() ? " {" : ": ",
        one.is_message() ? "" : one.value, "  # ",
        is_absent ? kNotSet : origins.Find(one.path).value_or("default"), "\n");
    if (one.is_message()) ++depth;
  }
  close_to(0);
  return text;
}

std::map<std::string, std::variant<double, bool, std::string>> ConfigSettings(
    const Message& config) {
  std::map<std::string, std::variant<double, bool, std::string>> settings;
  for (const ConfigField& one : FieldsOf(config)) {
    const auto* oneof = one.field->real_containing_oneof();
    if (oneof != nullptr && one.is_set) {
      settings[JoinFieldPath(one.parent, oneof->name())] =
          FieldName(*one.field);
    }
    if (one.is_message() || !(one.is_set || one.is_default())) continue;
    settings[one.path] = ValueOf(one);
  }
  return settings;
}

std::vector<ResolvedField> ResolvedFields(const Message& config) {
  return *ParseResolvedFields(ResolvedConfig(config, ConfigOrigins()));
}

absl::StatusOr<std::vector<ResolvedField>> ParseResolvedFields(
    absl::string_view text) {
  return ParseFields(text, nullptr);
}

std::string ReplaceResolvedFields(const std::string& text,
                                  const std::string& changed,
                                  const std::vector<std::string>& paths) {
  std::vector<size_t> old_lines;
  std::vector<size_t> new_lines;
  const auto old_fields = ParseFields(text, &old_lines);
  const auto new_fields = ParseFields(changed, &new_lines);
  if (!old_fields.ok() || !new_fields.ok()) return changed;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const std::vector<std::string> others = absl::StrSplit(changed, '\n');
  for (const std::string& path : paths) {
    const auto before =
        std::ranges::find(*old_fields, path, &ResolvedField::path);
    const auto after =
        std::ranges::find(*new_fields, path, &ResolvedField::path);
    if (before == old_fields->end() || after == new_fields->end()) {
      return changed;
    }
    lines[old_lines[before - old_fields->begin()]] =
        others[new_lines[after - new_fields->begin()]];
  }
  return absl::StrJoin(lines, "\n");
}

std::vector<FieldDifference> DiffResolvedFields(
    const std::vector<ResolvedField>& before,
    const std::vector<ResolvedField>& after) {
  // Lists of several messages, and messages that one side lacks, are compared
  // as a whole, so that the fields of a message are shown together.
  std::map<std::string, std::array<int, 2>> counts;
  for (const auto& side : {&before, &after}) {
    for (const ResolvedField& field : *side) {
      if (field.value == kMessage) ++counts[field.path][side == &after];
    }
  }
  std::set<std::string> whole;
  for (const auto& [path, count] : counts) {
    if (count != std::array{1, 1}) whole.insert(path);
  }
  auto old_values = ByPath(before, whole);
  auto new_values = ByPath(after, whole);
  for (const auto& [path, value] : old_values) {
    new_values.emplace(path, kNotSet);
  }
  std::vector<FieldDifference> differences;
  for (const auto& [path, value] : new_values) {
    const auto old = old_values.emplace(path, kNotSet).first;
    if (old->second != value) differences.push_back({path, old->second, value});
  }
  return differences;
}

std::vector<size_t> CountDifferences(
    const std::vector<std::vector<ResolvedField>>& configs) {
  std::set<std::string> whole;
  for (const std::vector<ResolvedField>& config : configs) {
    std::set<absl::string_view> messages;
    for (const ResolvedField& field : config) {
      const bool is_second =
          field.value == kMessage && !messages.insert(field.path).second;
      if (is_second) whole.insert(field.path);
    }
  }
  // The number of configs that have a path: `present` in total, and `values`
  // for each value. `in_it` is the sum of `present` over the fields of a
  // message.
  struct PathCount {
    size_t present = 0;
    size_t in_it = 0;
    std::map<std::string, size_t> values = {};
  };
  std::map<std::string, PathCount> counts;
  counts[""].present = configs.size();
  std::vector<std::map<std::string, std::string>> values;
  for (const std::vector<ResolvedField>& config : configs) {
    for (const auto& [path, value] :
         values.emplace_back(ByPath(config, whole))) {
      PathCount& count = counts[path];
      ++count.present;
      ++count.values[value];
      ++counts[ParentPath(path, values.back())].in_it;
    }
  }
  // Two configs differ in a field only if both have the message around it.
  std::vector<size_t> differences;
  for (const std::map<std::string, std::string>& config : values) {
    size_t sum = counts[""].in_it;
    for (const auto& [path, value] : config) {
      const PathCount& count = counts[path];
      // If `path` is a message, adds the counts of its fields over all configs.
      // The counts of fields that this config lacks remain in the sum, as
      // differences.
      sum += count.in_it;
      // Replaces the count of this field by the number of configs that have the
      // message around it, but lack the field or have another value.
      sum += counts[ParentPath(path, config)].present - count.values.at(value);
      sum -= count.present;
    }
    differences.push_back(sum);
  }
  return differences;
}

}  // namespace regard
