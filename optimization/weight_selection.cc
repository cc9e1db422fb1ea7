#include "optimization/weight_selection.h"

#include <algorithm>
#include <cmath>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The number of elements that a thread averages at a time.
constexpr int64_t kChunk = int64_t{1} << 14;

}  // namespace

void WeightSelection::UpdateEma(absl::Span<const float> weights,
                                WorkerPool& pool) {
  if (options_.ema_decay == 0) return;
  std::vector<float>& ema = state_.ema;
  if (ema.empty()) {
    ema.assign(weights.begin(), weights.end());
    return;
  }
  REGARD_CHECK_EQ(ema.size(), weights.size());
  const auto size = static_cast<int64_t>(ema.size());
  const auto rate = static_cast<float>(1 - options_.ema_decay);
  pool.Run((size + kChunk - 1) / kChunk, [&](int64_t chunk) {
    const int64_t end = std::min(size, (chunk + 1) * kChunk);
    for (int64_t i = chunk * kChunk; i < end; ++i) {
      ema[i] += rate * (weights[i] - ema[i]);
    }
  });
}

bool WeightSelection::IsGain(double value, double min_gain) const {
  if (std::isnan(value)) return false;
  const std::optional<double>& best = state_.best_value;
  if (!best.has_value()) return true;
  return options_.higher_is_better ? value > *best + min_gain
                                   : value < *best - min_gain;
}

void WeightSelection::Observe(int64_t step,
                              const std::map<std::string, double>& measured,
                              absl::Span<const float> weights) {
  if (const auto average = static_cast<size_t>(options_.average); average > 0) {
    std::deque<Snapshot>& snapshots = state_.snapshots;
    if (snapshots.size() == average) snapshots.pop_front();
    snapshots.push_back({step, {weights.begin(), weights.end()}});
  }
  const auto found = measured.find(options_.metric);
  if (options_.metric.empty() || found == measured.end()) return;
  if (IsGain(found->second, options_.min_gain)) {
    state_.best_value = found->second;
    state_.best.assign(weights.begin(), weights.end());
    state_.evaluations_without_gain = 0;
  } else {
    ++state_.evaluations_without_gain;
  }
}

std::vector<float> WeightSelection::AverageSnapshots() const {
  const std::deque<Snapshot>& snapshots = state_.snapshots;
  if (snapshots.empty()) return {};
  std::vector<float> mean(snapshots.front().weights.size());
  const auto count = static_cast<double>(snapshots.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const Snapshot& snapshot : snapshots) {
      sum += static_cast<double>(snapshot.weights[i]);
    }
    mean[i] = static_cast<float>(sum / count);
  }
  return mean;
}

}  // namespace regard
