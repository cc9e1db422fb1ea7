#include "experiments/ablation/bounds.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace regard {

bool MetricBound::Holds(double value) const {
  if (relation == "<") return value < limit;
  if (relation == "<=") return value <= limit;
  if (relation == ">") return value > limit;
  if (relation == ">=") return value >= limit;
  return value == limit;
}

absl::StatusOr<MetricBound> ParseBound(absl::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  MetricBound bound;
  const bool right = words.size() == 3 &&
                     (words[1] == "<" || words[1] == "<=" || words[1] == ">" ||
                      words[1] == ">=" || words[1] == "==") &&
                     absl::SimpleAtod(words[2], &bound.limit);
  if (!right) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no bound; one is like 'test/bleu >= 95'"));
  }
  bound.metric = words[0];
  bound.relation = words[1];
  return bound;
}

}  // namespace regard
