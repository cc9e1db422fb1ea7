// Which weights a training evaluates and uses in the end: the last ones, their
// exponential moving average, those that were best by a metric, or the mean of
// several.
#ifndef OPTIMIZATION_WEIGHT_SELECTION_H_
#define OPTIMIZATION_WEIGHT_SELECTION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/worker_pool.h"

namespace regard {

struct WeightSelectionOptions {
  std::string metric = {};  // "dev/bleu"; empty if no metric decides
  bool higher_is_better = false;
  double min_gain = 0;   // by which a metric must be better than the best
  int patience = 0;      // evaluations without a gain; 0: any number
  int average = 0;       // evaluations whose weights are averaged; 0: none
  double ema_decay = 0;  // 0: no moving average
};

class WeightSelection {
 public:
  explicit WeightSelection(WeightSelectionOptions options)
      : options_(std::move(options)) {}

  // Whether other weights than the last ones may be used.
  bool active() const { return observes() || options_.ema_decay > 0; }
  // Whether evaluations matter to which.
  bool observes() const {
    return !options_.metric.empty() || options_.average > 0;
  }
  const std::string& metric() const { return options_.metric; }

  // Takes the weights after an update. The average is that of
  // torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn: the weights
  // after the first update, and from then on
  //   average + (1 - decay) (weights - average).
  // Allocates at the first call alone; the bits do not depend on the threads.
  void Update(absl::Span<const float> weights, WorkerPool& pool);

  // The exponential moving average; empty without one and until it begins.
  absl::Span<float> ema() { return absl::MakeSpan(state_.ema); }

  // Takes what the evaluation after `step` updates measured, and its weights.
  void Observe(int64_t step, const std::map<std::string, double>& measured,
               absl::Span<const float> weights);

  // Whether training should end: too many evaluations without a gain.
  bool exhausted() const {
    return options_.patience > 0 &&
           state_.evaluations_without_gain >= options_.patience;
  }

  // Whether `value` is better than that of the best weights.
  bool IsGain(double value, double min_gain) const;

  // The weights to use before training has ended: the best, else the moving
  // average. Empty if they are the last ones.
  absl::Span<const float> chosen() const {
    return state_.best.empty() ? state_.ema : state_.best;
  }

  // The mean of the last snapshots; empty if no mean is asked for.
  std::vector<float> Mean() const;

  struct Snapshot {
    int64_t step;
    std::vector<float> weights;
  };
  // What checkpoints keep.
  struct State {
    std::optional<double> best_value = std::nullopt;
    int evaluations_without_gain = 0;
    std::vector<float> best = {};
    std::vector<float> ema = {};
    std::deque<Snapshot> snapshots = {};  // oldest first
  };
  const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }

 private:
  const WeightSelectionOptions options_;
  State state_;
};

}  // namespace regard

#endif  // OPTIMIZATION_WEIGHT_SELECTION_H_
