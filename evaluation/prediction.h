// The input of a user to a trained model, and the model's prediction.
#ifndef EVALUATION_PREDICTION_H_
#define EVALUATION_PREDICTION_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// The input of a user to a trained model.
struct PredictionRequest {
  std::string text = {};  // text as typed: a sentence, a number or a path
  // 0-based index of a test example, or of a dev example if there is no test
  // set
  int64_t example = -1;
  // The beginning of a caption. If absent, the configured beginning is used.
  std::optional<std::string> prompt = {};
};

struct PredictionOutputLimits {
  int64_t length = 100;  // the largest number of ids that continue a text
  size_t most_choices = 5;
};

struct Prediction {
  std::string input = {};      // the input as the model reads it
  std::string text = {};       // the prediction, on one line
  std::string reference = {};  // the reference, if the input is an example
  std::vector<double> values = {};
  struct Choice {
    std::string name;
    double probability;
  };
  // For each choice that the model makes, the most likely classes in descending
  // order of probability.
  std::vector<std::vector<Choice>> choices = {};
  std::vector<std::string> notes = {};  // notes for the user
};

// Returns the most likely choices, at most `most` of them. `log_probabilities`
// has one value per choice.
template <typename NameOf>
std::vector<Prediction::Choice> RankedChoices(
    absl::Span<const float> log_probabilities, size_t most, NameOf name_of) {
  std::vector<size_t> order(log_probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t i) { return log_probabilities[i]; });
  order.resize(std::min(order.size(), most));
  std::vector<Prediction::Choice> choices;
  for (const size_t i : order) {
    choices.push_back(
        {name_of(i), std::exp(static_cast<double>(log_probabilities[i]))});
  }
  return choices;
}

// Returns an error if the text is not UTF-8, or is the path of an existing
// image. Used by text models.
absl::Status CheckIsText(const PredictionRequest& request);

// Splits `typed` at the tab that separates the two texts of a pair. Without a
// tab, returns one text.
absl::StatusOr<std::vector<absl::string_view>> ParseTextOrPair(
    absl::string_view typed);

// Returns an error if the example that the request selects does not exist.
// `size` is the number of test examples, or of dev examples if there is no test
// set.
inline absl::Status CheckExample(const PredictionRequest& request,
                                 size_t size) {
  if (request.example < static_cast<int64_t>(size)) return absl::OkStatus();
  if (size == 0) {
    return absl::InvalidArgumentError(
        "there are no examples: the data have neither a test nor a dev split");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the index of an example must be less than ", size,
                   ", the number of examples; got ", request.example));
}

}  // namespace regard

#endif  // EVALUATION_PREDICTION_H_
