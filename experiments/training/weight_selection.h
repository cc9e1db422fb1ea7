// Which weights a run uses in the end: the last ones, those that were best by a
// metric, or the mean of several (training.early_stopping, training.average).
#ifndef EXPERIMENTS_TRAINING_WEIGHT_SELECTION_H_
#define EXPERIMENTS_TRAINING_WEIGHT_SELECTION_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/metric.h"

namespace regard {

class WeightSelection {
 public:
  // `training` has been validated against `metrics`, those of the task.
  WeightSelection(const Training& training,
                  absl::Span<const MetricInfo> metrics);

  // Whether other weights than the last ones may be used.
  bool active() const { return !metric_.empty() || average_ > 0; }
  // "dev/bleu"; empty if no metric decides.
  const std::string& metric() const { return metric_; }

  // Takes the weights at an evaluation and what it measured.
  void Observe(const std::map<std::string, double>& measured,
               absl::Span<const float> weights);

  // Whether training should end: too many evaluations without a gain.
  bool exhausted() const { return patience_ > 0 && without_gain_ >= patience_; }

  // Empty until there are any.
  absl::Span<const float> best() const { return best_; }
  // Whether `value` is better than that of the best weights.
  bool IsGain(double value, double min_gain) const;

  // The mean of the last snapshots; empty if no mean is asked for.
  std::vector<float> Mean() const;

  // What checkpoints keep.
  std::optional<double> best_value() const { return best_value_; }
  int evaluations_without_gain() const { return without_gain_; }
  const std::deque<std::vector<float>>& snapshots() const { return snapshots_; }
  void Restore(std::optional<double> best_value, int evaluations_without_gain,
               std::vector<float> best,
               std::deque<std::vector<float>> snapshots);

 private:
  std::string metric_;
  bool higher_is_better_ = false;
  int patience_ = 0;
  double min_gain_ = 0;
  size_t average_ = 0;

  std::optional<double> best_value_;
  int without_gain_ = 0;
  std::vector<float> best_;
  std::deque<std::vector<float>> snapshots_;  // oldest first
};

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_WEIGHT_SELECTION_H_
