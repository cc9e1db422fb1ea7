#include "experiments/config/field_names.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "experiments/config/config_text.h"
#include "nn/config_options.pb.h"

namespace regard {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

// Of any field or extension. Protobuf's search for an extension takes time that
// is quadratic in the dots of the name: minutes for one of a megabyte.
constexpr size_t kLongestName = 256;

}  // namespace

const FieldDescriptor* FindField(const Descriptor& message,
                                 absl::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  if (name.empty() || name[0] != '[') {
    const FieldDescriptor* found = message.FindFieldByName(std::string(name));
    for (int i = 0; found == nullptr && i < message.field_count(); ++i) {
      const auto& options = message.field(i)->options();
      if (!name.empty() && options.GetExtension(former_name) == name) {
        found = message.field(i);
      }
    }
    return found;
  }
  if (name.size() < 2) return nullptr;
  return message.file()->pool()->FindExtensionByPrintableName(
      &message, std::string(name.substr(1, name.size() - 2)));
}

std::string FieldName(const FieldDescriptor& field) {
  if (!field.is_extension()) return field.name();
  return absl::StrCat("[", field.full_name(), "]");
}

std::string NoSuchField(const Descriptor& message, absl::string_view name) {
  const std::string shown = Printable(name);
  if (message.IsReservedName(std::string(name))) {
    return absl::StrCat("'", shown, "' is no longer a field of ",
                        message.name());
  }
  std::vector<std::string> candidates;
  if (const OneofDescriptor* oneof =
          message.FindOneofByName(std::string(name))) {
    for (int i = 0; i < oneof->field_count(); ++i) {
      candidates.push_back(oneof->field(i)->name());
    }
    return absl::StrCat("'", shown, "' is a choice, not a field; write one of ",
                        absl::StrJoin(candidates, ", "));
  }
  if (!name.empty() && name[0] == '[') {
    std::vector<const FieldDescriptor*> extensions;
    message.file()->pool()->FindAllExtensions(&message, &extensions);
    for (const FieldDescriptor* extension : extensions) {
      candidates.push_back(FieldName(*extension));
    }
    std::sort(candidates.begin(), candidates.end());
    return absl::StrCat("no extension '", shown, "' of ", message.name(),
                        " is linked in", SuggestName(name, candidates));
  }
  for (int i = 0; i < message.field_count(); ++i) {
    candidates.push_back(message.field(i)->name());
  }
  return absl::StrCat("no field '", shown, "' in ", message.name(),
                      SuggestName(name, candidates));
}

std::string JoinFieldPath(absl::string_view parent, absl::string_view name) {
  return absl::StrCat(parent, parent.empty() || name.empty() ? "" : ".", name);
}

namespace {

PathStep ReadStep(absl::string_view step, size_t begin) {
  const TextRange range{begin, step.size()};
  // The bracket that opens an extension's name is no index.
  const size_t bracket = std::min(step.find('[', 1), step.size());
  absl::string_view digits = step.substr(bracket);
  const bool is_index =
      absl::ConsumePrefix(&digits, "[") && absl::ConsumeSuffix(&digits, "]") &&
      !digits.empty() &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (!is_index) return {std::string(step), std::nullopt, range};
  int index = 0;
  const bool fits = absl::SimpleAtoi(digits, &index);
  return {std::string(step.substr(0, bracket)),
          fits ? index : std::numeric_limits<int>::max(), range};
}

}  // namespace

std::vector<PathStep> SplitPath(absl::string_view path) {
  std::vector<PathStep> steps;
  size_t begin = 0;
  bool in_brackets = false;
  for (size_t i = 0; i <= path.size(); ++i) {
    const char c = i < path.size() ? path[i] : '\0';
    if (c == '[' || c == ']') in_brackets = c == '[';
    if (i < path.size() && (c != '.' || in_brackets)) continue;
    steps.push_back(ReadStep(path.substr(begin, i - begin), begin));
    begin = i + 1;
  }
  return steps;
}

namespace {

constexpr size_t kLongestSuggested = 64;
constexpr size_t kMostListed = 12;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before_last;
  std::vector<int> last;
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string SuggestName(absl::string_view name,
                        absl::Span<const std::string> candidates) {
  if (name.size() > kLongestSuggested) return "";
  const std::string lower = absl::AsciiStrToLower(name);
  const std::string* nearest = nullptr;
  int nearest_distance = static_cast<int>(name.size() + 2) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = absl::AsciiStrToLower(candidate);
    const int distance = absl::EndsWith(other, absl::StrCat("_", lower))
                             ? 1
                             : EditDistance(lower, other);
    if (distance < nearest_distance) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  if (nearest != nullptr) {
    return absl::StrCat("; did you mean '", *nearest, "'?");
  }
  if (candidates.empty() || candidates.size() > kMostListed) return "";
  return absl::StrCat("; it can be ", absl::StrJoin(candidates, ", "));
}

}  // namespace regard
