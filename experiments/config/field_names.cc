#include "experiments/config/field_names.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

constexpr size_t kMostIndexDigits = 9;
constexpr int kLargestIndex = 999'999'999;

// The end of the step that begins at `begin`: the next dot outside brackets.
size_t StepEnd(absl::string_view path, size_t begin) {
  bool in_brackets = false;
  for (size_t i = begin; i < path.size(); ++i) {
    if (path[i] == '[') in_brackets = true;
    if (path[i] == ']') in_brackets = false;
    if (path[i] == '.' && !in_brackets) return i;
  }
  return path.size();
}

PathStep ReadStep(absl::string_view step) {
  // The bracket that opens an extension's name is no index.
  const size_t bracket = step.find('[', 1);
  if (bracket == absl::string_view::npos || !absl::EndsWith(step, "]")) {
    return {std::string(step), std::nullopt, {}};
  }
  const absl::string_view digits =
      step.substr(bracket + 1, step.size() - bracket - 2);
  if (digits.empty() ||
      !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) {
    return {std::string(step), std::nullopt, {}};
  }
  int index = kLargestIndex;
  if (digits.size() <= kMostIndexDigits && !absl::SimpleAtoi(digits, &index)) {
    index = kLargestIndex;
  }
  return {std::string(step.substr(0, bracket)), index, {}};
}

}  // namespace

std::vector<PathStep> SplitPath(absl::string_view path) {
  std::vector<PathStep> steps;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = StepEnd(path, begin);
    steps.push_back(ReadStep(path.substr(begin, end - begin)));
    steps.back().range = {begin, end - begin};
    begin = end + 1;
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
