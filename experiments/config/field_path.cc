#include "experiments/config/field_path.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace regard {
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

absl::string_view ParentPath(absl::string_view path) {
  const size_t begin = SplitPath(path).back().range.begin;
  return path.substr(0, begin == 0 ? 0 : begin - 1);
}

}  // namespace regard
