#include "experiments/training/weight_selection.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "third_party/abseil_backport/check.h"

namespace regard {

WeightSelection::WeightSelection(const Training& training,
                                 absl::Span<const MetricInfo> metrics)
    : average_(static_cast<size_t>(training.average())) {
  if (!training.has_early_stopping()) return;
  const EarlyStopping& stopping = training.early_stopping();
  metric_ = stopping.metric();
  const MetricInfo* info = FindMetric(metrics, metric_);
  REGARD_CHECK(info != nullptr) << metric_;
  higher_is_better_ = info->better == Better::kHigher;
  patience_ = stopping.patience();
  min_gain_ = stopping.min_gain();
}

bool WeightSelection::IsGain(double value, double min_gain) const {
  if (std::isnan(value)) return false;
  if (!best_value_.has_value()) return true;
  return higher_is_better_ ? value > *best_value_ + min_gain
                           : value < *best_value_ - min_gain;
}

void WeightSelection::Observe(const std::map<std::string, double>& measured,
                              absl::Span<const float> weights) {
  if (average_ > 0) {
    if (snapshots_.size() == average_) snapshots_.pop_front();
    snapshots_.emplace_back(weights.begin(), weights.end());
  }
  const auto found = measured.find(metric_);
  if (metric_.empty() || found == measured.end()) return;
  if (IsGain(found->second, min_gain_)) {
    best_value_ = found->second;
    best_.assign(weights.begin(), weights.end());
    without_gain_ = 0;
  } else {
    ++without_gain_;
  }
}

std::vector<float> WeightSelection::Mean() const {
  if (snapshots_.empty()) return {};
  std::vector<float> mean(snapshots_.front().size());
  const auto count = static_cast<double>(snapshots_.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const std::vector<float>& weights : snapshots_) {
      sum += static_cast<double>(weights[i]);
    }
    mean[i] = static_cast<float>(sum / count);
  }
  return mean;
}

void WeightSelection::Restore(std::optional<double> best_value,
                              int evaluations_without_gain,
                              std::vector<float> best,
                              std::deque<std::vector<float>> snapshots) {
  best_value_ = best_value;
  without_gain_ = evaluations_without_gain;
  best_ = std::move(best);
  snapshots_ = std::move(snapshots);
}

}  // namespace regard
