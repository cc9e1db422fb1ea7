#include "data/target_lengths.h"

#include <algorithm>

namespace regard {

namespace {

constexpr char kLongest[] = "longest_target";
constexpr char kRatio[] = "target_source_ratio";
constexpr char kUnknown[] = "unknown_target_words";

}  // namespace

void TargetLengths::Add(int64_t source_ids, int64_t target_ids,
                        int64_t unknown_ids) {
  longest = std::max(longest, target_ids);
  ratio = std::max(
      ratio, static_cast<double>(target_ids) / static_cast<double>(source_ids));
  unknown = unknown.value_or(0) + unknown_ids;
}

std::map<std::string, double> TargetLengths::ToNumbers() const {
  std::map<std::string, double> numbers = {
      {kLongest, static_cast<double>(longest)}, {kRatio, ratio}};
  if (unknown.has_value()) numbers[kUnknown] = static_cast<double>(*unknown);
  return numbers;
}

TargetLengths TargetLengths::FromNumbers(
    const std::map<std::string, double>& numbers) {
  // The file may have been edited. The limit bounds the work of a search.
  const auto number = [&](const char* name, double most) {
    const auto found = numbers.find(name);
    // Also replaces NaN with 0.
    return found != numbers.end() && found->second > 0
               ? std::min(found->second, most)
               : 0;
  };
  TargetLengths lengths = {
      .longest = static_cast<int64_t>(number(kLongest, 1e9)),
      .ratio = number(kRatio, 1e9)};
  if (numbers.count(kUnknown) > 0) {
    lengths.unknown = static_cast<int64_t>(number(kUnknown, 1e18));
  }
  return lengths;
}

}  // namespace regard
