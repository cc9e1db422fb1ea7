#include "experiments/sweep/axis_flag.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "experiments/sweep/sweep.pb.h"
#include "options/config_fields.h"
#include "options/config_text.h"

namespace regard {
namespace {

constexpr absl::string_view kOpening = "{[(<";
constexpr absl::string_view kClosing = "}])>";

absl::Status ErrorAt(const std::string& flag, TextRange range,
                     std::string message) {
  return absl::InvalidArgumentError(
      ConfigTextWithOrigin::Override(flag, "--axis")
          .Diagnostic({range, std::move(message)}));
}

// Splits `text`, starting at `begin`, at commas outside brackets and quotes.
// Returns the ranges of the parts, without surrounding spaces.
absl::StatusOr<std::vector<TextRange>> SplitValues(const std::string& text,
                                                   size_t begin) {
  std::vector<TextRange> parts;
  std::vector<size_t> open;  // positions of open brackets
  std::optional<size_t> quote;
  size_t start = begin;
  const auto add = [&](size_t end) {
    size_t first = start;
    while (first < end && absl::ascii_isspace(text[first])) ++first;
    while (end > first && absl::ascii_isspace(text[end - 1])) --end;
    parts.push_back({first, end - first});
    start = end + 1;
  };
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote.has_value()) {
      if (c == '\\') {
        ++i;
      } else if (c == text[*quote]) {
        quote.reset();
      }
    } else if (c == '"' || c == '\'') {
      quote = i;
    } else if (absl::StrContains(kOpening, c)) {
      open.push_back(i);
    } else if (absl::StrContains(kClosing, c)) {
      if (open.empty() ||
          kOpening.find(text[open.back()]) != kClosing.find(c)) {
        return ErrorAt(text, {i, 1},
                       absl::StrCat("'", absl::string_view(&c, 1),
                                    "' has no opening bracket"));
      }
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      add(i);
      start = i + 1;
    }
  }
  if (quote.has_value()) {
    return ErrorAt(text, {*quote, 1}, "this quote has no closing quote");
  }
  if (!open.empty()) {
    return ErrorAt(text, {open.back(), 1},
                   absl::StrCat("this '", text.substr(open.back(), 1),
                                "' has no closing bracket"));
  }
  add(text.size());
  return parts;
}

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(text[0]) &&
         std::ranges::all_of(text, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '_';
         });
}

}  // namespace

absl::StatusOr<SweepAxis> ParseAxisFlag(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string path(
      absl::StripAsciiWhitespace(absl::string_view(text).substr(0, equals)));
  const TextRange whole = {0, std::max<size_t>(text.size(), 1)};
  if (equals == std::string::npos || path.empty()) {
    return ErrorAt(text, whole,
                   "must be PATH=V1,V2, such as "
                   "optimizer.learning_rate=0.001,0.002");
  }
  if (path == "seed") {
    return ErrorAt(text, {0, equals},
                   "seeds are not an axis; use --seeds=N instead");
  }
  absl::StatusOr<std::vector<TextRange>> parts = SplitValues(text, equals + 1);
  if (!parts.ok()) return parts.status();
  SweepAxis axis;
  axis.add_path(path);
  std::vector<std::string> labels;
  for (const TextRange& range : *parts) {
    const std::string value = text.substr(range.begin, range.length);
    if (value.empty()) {
      return ErrorAt(text, {std::min(range.begin, text.size() - 1), 1},
                     "a value is empty; separate values by one comma");
    }
    const std::string label = LabelOfValue(value);
    if (std::ranges::count(labels, label) > 0) {
      return ErrorAt(text, range, absl::StrCat(label, " appears twice"));
    }
    labels.push_back(label);
    axis.add_value()->add_set(value);
  }
  if (parts->size() < 2) {
    return ErrorAt(text, parts->front(),
                   "an axis must have at least two values to compare; for one "
                   "value, use --set");
  }
  return axis;
}

std::string WithBraces(const google::protobuf::Descriptor& message,
                       absl::string_view path, absl::string_view value) {
  const google::protobuf::Descriptor* type = &message;
  const google::protobuf::FieldDescriptor* field = nullptr;
  for (const PathStep& step : SplitPath(path)) {
    if (type == nullptr) return std::string(value);
    field = FindField(*type, step.name);
    if (field == nullptr) return std::string(value);
    // The value of a whole repeated field already has brackets.
    if (field->is_repeated() && !step.index.has_value()) {
      return std::string(value);
    }
    type = field->message_type();
  }
  if (type == nullptr || value.empty() || value[0] == '{' || value[0] == '<') {
    return std::string(value);
  }
  return IsIdentifier(value) ? absl::StrCat("{", value, " {}}")
                             : absl::StrCat("{", value, "}");
}

std::string LabelOfValue(absl::string_view value) {
  if (absl::StartsWith(value, "{") && absl::EndsWith(value, "}")) {
    value = absl::StripAsciiWhitespace(value.substr(1, value.size() - 2));
  }
  // Matches "dot {}" and "dot { }".
  absl::string_view name = value;
  if (absl::ConsumeSuffix(&name, "}")) {
    name = absl::StripTrailingAsciiWhitespace(name);
    if (absl::ConsumeSuffix(&name, "{")) {
      name = absl::StripTrailingAsciiWhitespace(name);
      if (IsIdentifier(name)) value = name;
    }
  }
  if (value.size() > 1 && value[0] == value.back() &&
      (value[0] == '"' || value[0] == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  if (value.size() > 1 && value[0] == '.' && absl::ascii_isdigit(value[1])) {
    return absl::StrCat("0", value);
  }
  return std::string(value);
}

}  // namespace regard
