#include "experiments/tasks/evaluation.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/run/metric.h"
#include "optimization/ranks/inference_ranks.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void EvaluateSplit(Task& task, Forward<float>& forward, Split split,
                   Ranks* ranks, EvaluationResults* evaluation) {
  const InferenceRanks share(ranks);
  constexpr const char* kNames[] = {"train", "dev", "test"};
  const auto prefixed = [&](const std::string& set, const std::string& metric) {
    REGARD_CHECK(FindMetric(task.metrics(), metric) != nullptr)
        << metric << " is not among the task's metrics";
    return absl::StrCat(kNames[static_cast<int>(split)], set.empty() ? "" : ".",
                        set, "/", metric);
  };
  for (EvaluatedSet& set : task.model().Evaluate(forward, split)) {
    for (const auto& [total, value] : set.totals) {
      evaluation->metrics[prefixed(set.set, total)] = value;
    }
    for (MetricOverExamples& metric : set.metrics) {
      metric.name = prefixed(set.set, metric.name);
      evaluation->metrics[metric.name] = metric.Value();
    }
    if (!set.metrics.empty()) evaluation->sets.push_back(std::move(set));
  }
}

EvaluationResults EvaluateAll(Task& task, Forward<float>& forward) {
  task.model().BeginEpoch(std::nullopt);
  EvaluationResults evaluation;
  for (const Split split : {Split::kTrain, Split::kDev, Split::kTest}) {
    EvaluateSplit(task, forward, split, /*ranks=*/nullptr, &evaluation);
  }
  return evaluation;
}

}  // namespace regard
