// What a trained model is asked, and what it answers.
#ifndef EVALUATION_ANSWER_H_
#define EVALUATION_ANSWER_H_

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

// What a user asks a trained model.
struct Question {
  std::string text = {};  // as it was typed: a sentence, a number, a path
  int64_t example = -1;   // an example of test, else dev, to ask, from 0
  // How the answer is to begin, of captioners; without it, as configured.
  std::optional<std::string> prompt = {};
};

struct AnswerOptions {
  int64_t length = 100;  // ids that a text is continued by at most
  size_t most_choices = 5;
};

struct Answered {
  std::string input = {};      // what the model read
  std::string text = {};       // the answer, on one line
  std::string reference = {};  // the right one, of an example
  std::vector<double> values = {};
  struct Choice {
    std::string name;
    double probability;
  };
  // The likeliest ones of each thing that was to be chosen, the first ones
  // first.
  std::vector<std::vector<Choice>> choices = {};
  std::vector<std::string> notes = {};  // what the user should know
};

// The choices of one thing from the natural logarithms of their probabilities.
template <typename NameOf>
std::vector<Answered::Choice> RankedChoices(
    absl::Span<const float> log_probabilities, size_t most, NameOf name_of) {
  std::vector<size_t> order(log_probabilities.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](size_t i) { return log_probabilities[i]; });
  order.resize(std::min(order.size(), most));
  std::vector<Answered::Choice> choices;
  for (const size_t i : order) {
    choices.push_back(
        {name_of(i), std::exp(static_cast<double>(log_probabilities[i]))});
  }
  return choices;
}

// An error if the text is not UTF-8, or the path of an image that is there: of
// models that read texts.
absl::Status CheckIsText(const Question& question);

// A typed text, or the two of a pair, which have a tab between.
absl::StatusOr<std::vector<absl::string_view>> TextOrPair(
    absl::string_view typed);

// An error if `size` examples, of test or else dev, have no such one.
inline absl::Status CheckExample(const Question& question, size_t size) {
  if (question.example < static_cast<int64_t>(size)) return absl::OkStatus();
  if (size == 0) {
    return absl::InvalidArgumentError(
        "there are no examples: the data have neither a test nor a dev split");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the index of an example must be less than ", size,
                   ", the number of examples; got ", question.example));
}

}  // namespace regard

#endif  // EVALUATION_ANSWER_H_
