#include "nn/config_problems.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace regard {
namespace {

// The shortest text that reads back as `value`, taken as a float if it is one:
// 0.3 of a float field prints as 0.3.
std::string Shortest(double value) {
  char text[32];
  const float narrow = static_cast<float>(value);
  const std::to_chars_result end =
      narrow == value ? std::to_chars(text, text + sizeof(text), narrow)
                      : std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
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

void ConfigProblems::RequirePositive(absl::string_view path, double value) {
  if (value > 0 && std::isfinite(value)) return;
  Add(path, absl::StrCat("must be positive, got ", Shortest(value)));
}

std::string ConfigProblems::Absolute(absl::string_view path) const {
  if (scope_.empty() || path.empty()) return absl::StrCat(scope_, path);
  return absl::StrCat(scope_, ".", path);
}

}  // namespace regard
