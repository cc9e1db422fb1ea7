#include "nn/config_problems.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace regard {
namespace {

// Whole numbers by their digits, others by the shortest text that reads back as
// `value`, taken as a float if it is one: 0.3 of a float field prints as 0.3.
std::string Shortest(double value) {
  constexpr double kLargestWhole = 1e15;
  char text[32];
  char* const end = text + sizeof(text);
  const float narrow = static_cast<float>(value);
  std::to_chars_result result;
  if (std::trunc(value) == value && std::abs(value) <= kLargestWhole) {
    result = std::to_chars(text, end, value, std::chars_format::fixed);
  } else if (narrow == value) {
    result = std::to_chars(text, end, narrow);
  } else {
    result = std::to_chars(text, end, value);
  }
  return std::string(text, result.ptr);
}

}  // namespace

ConfigProblems::Scope::Scope(ConfigProblems& problems, absl::string_view path)
    : problems_(problems), outer_(problems.scope_) {
  problems_.scope_ = problems_.Absolute(path);
}

ConfigProblems::Scope::~Scope() { problems_.scope_ = std::move(outer_); }

void ConfigProblems::Add(absl::string_view path, std::string message) {
  problems_.push_back({Absolute(path), std::move(message)});
}

void ConfigProblems::RequireInRange(absl::string_view path, double value,
                                    double min, double max) {
  if (value >= min && value <= max) return;
  Add(path, absl::StrCat("must be in [", Shortest(min), ", ", Shortest(max),
                         "], got ", Shortest(value)));
}

void ConfigProblems::RequireDropout(absl::string_view path, double rate) {
  if (rate >= 0 && static_cast<float>(rate) < 1) return;
  Add(path, absl::StrCat("must be in [0, 1), got ", Shortest(rate)));
}

void ConfigProblems::RequirePositive(absl::string_view path, double value) {
  if (value > 0 && std::isfinite(value)) return;
  Add(path, absl::StrCat("must be positive, got ", Shortest(value)));
}

std::string ConfigProblems::Absolute(absl::string_view path) const {
  if (scope_.empty() || path.empty()) return absl::StrCat(scope_, path);
  return absl::StrCat(scope_, ".", path);
}

}  // namespace regard
