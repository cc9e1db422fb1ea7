#include "tools/peers/search_work.h"

#include <algorithm>
#include <utility>

#include "autodiff/tape.h"

namespace regard {

struct SearchWork::Part {
  explicit Part(const ParameterStore<float>& parameters)
      : forward(tape, parameters, /*gradients=*/nullptr) {}

  Tape<float> tape;
  Forward<float> forward;
  size_t begin = 0;
  size_t end = 0;
  std::vector<std::vector<Hypothesis>> found;
};

SearchWork::SearchWork(std::unique_ptr<SearchedModel> model, int64_t sources,
                       int threads)
    : model_(std::move(model)), pool_(threads) {
  const auto count = static_cast<size_t>(sources);
  const size_t parts = std::min(static_cast<size_t>(threads), count);
  for (size_t i = 0; i < parts; ++i) {
    parts_.push_back(std::make_unique<Part>(model_->parameters()));
    parts_.back()->begin = count * i / parts;
    parts_.back()->end = count * (i + 1) / parts;
  }
}

SearchWork::~SearchWork() = default;

void SearchWork::Step() {
  pool_.Run(static_cast<int64_t>(parts_.size()), [this](int64_t i) {
    Part& part = *parts_[static_cast<size_t>(i)];
    part.found = model_->FindHypotheses(part.forward, part.begin, part.end);
  });
}

std::vector<double> SearchWork::NumbersToCompare() {
  Step();
  double sum = 0;
  size_t count = 0;
  for (const auto& part : parts_) {
    for (const auto& hypotheses : part->found) {
      sum += hypotheses.front().log_probability;
    }
    count += part->found.size();
  }
  return {sum / static_cast<double>(count)};
}

}  // namespace regard
