#include "evaluation/class_names.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"

namespace regard {

namespace {

// The largest number of names in the note.
constexpr int kMaxNamed = 20;

}  // namespace

ClassNames::ClassNames(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<int32_t>> labels;
  for (const std::string& name : names) {
    std::vector<int32_t>& of_name = labels[name];
    of_name.push_back(static_cast<int32_t>(first_.size()));
    first_.push_back(of_name[0]);
  }
  int repeated = 0;
  for (const auto& [name, of_name] : labels) {
    if (of_name.size() == 1 || ++repeated > kMaxNamed) continue;
    absl::StrAppend(&note_, note_.empty() ? "" : ", ", of_name.size(),
                    " classes are named '", name, "'");
  }
  if (repeated > kMaxNamed) {
    absl::StrAppend(&note_, ", and ", repeated - kMaxNamed,
                    " more names belong to several classes");
  }
  if (repeated > 0) {
    absl::StrAppend(&note_, ": a prediction is correct if its name is");
  }
}

int32_t ClassNames::BestCanonicalLabel(absl::Span<const float> row) const {
  return CanonicalLabel(
      static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
}

double ClassNames::Loss(absl::Span<const float> log_probabilities,
                        int32_t label) const {
  const double own = log_probabilities[label];
  if (note_.empty()) return -own;
  double most = own;
  for (size_t i = 0; i < first_.size(); ++i) {
    if (first_[i] != first_[label]) continue;
    most = std::max(most, static_cast<double>(log_probabilities[i]));
  }
  double sum = 0;
  for (size_t i = 0; i < first_.size(); ++i) {
    if (first_[i] != first_[label]) continue;
    sum += std::exp(static_cast<double>(log_probabilities[i]) - most);
  }
  return -most - std::log(sum);
}

}  // namespace regard
