#include "experiments/report/metric_description.h"

#include <cmath>
#include <string>

#include "absl/strings/str_format.h"

namespace regard {
namespace {

struct Description {
  absl::string_view name;
  absl::string_view text;
};

constexpr Description kDescriptions[] = {
    {"alignment_error_rate",
     "share of gold word links that attention misses or adds; 0 is best"},
    {"bleu", "overlap of word sequences with the reference, 0 to 100"},
    {"chrf", "overlap of character sequences with the reference, 0 to 100"},
    {"d2l_bleu_k2",
     "overlap of words and word pairs as Dive into Deep Learning counts it, "
     "0 to 1"},
    {"d2l_loss",
     "loss as Dive into Deep Learning counts it: a mean over all positions, "
     "padding included"},
    {"exact_match", "share of sentences translated word for word"},
    {"loss", "cross-entropy in nats per token; 0 is best"},
    {"mse", "mean squared error"},
    {"perplexity",
     "how many words the model hesitates between, on average; 1 is best"},
    {"token_accuracy",
     "share of tokens predicted right when given the true tokens before"},
};

}  // namespace

absl::string_view MetricDescription(absl::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  for (const Description& description : kDescriptions) {
    if (description.name == name) return description.text;
  }
  return "";
}

std::string FormatMetric(double value) {
  // Beyond this, doubles do not hold every whole number.
  constexpr double kExactWholes = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExactWholes) {
    return absl::StrFormat("%.0f", value);
  }
  return absl::StrFormat("%.4g", value);
}

}  // namespace regard
