// Selects the weights that training evaluates, and that it keeps at its end:
// the last weights, their exponential moving average, the best weights by a
// metric, or the mean of several evaluations.
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
  std::string metric = {};  // a metric such as "dev/bleu", or empty
  bool higher_is_better = false;
  double min_gain = 0;   // minimum improvement over the best value
  int patience = 0;      // evaluations without an improvement; 0: unlimited
  int average = 0;       // evaluations to average; 0: no average
  double ema_decay = 0;  // 0: no moving average
};

class WeightSelection {
 public:
  explicit WeightSelection(WeightSelectionOptions options)
      : options_(std::move(options)) {}

  // Whether weights other than the last ones may be used.
  bool active() const { return observes() || options_.ema_decay > 0; }
  // Whether the selection depends on evaluations.
  bool observes() const {
    return !options_.metric.empty() || options_.average > 0;
  }
  const std::string& metric() const { return options_.metric; }

  // Adds the weights after an optimizer step to the moving average. The average
  // is the same as in torch.optim.swa_utils.AveragedModel with
  // get_ema_multi_avg_fn. The average starts as the weights after the first
  // step. Each later step changes it to
  //   average + (1 - decay) * (weights - average).
  // Allocates only at the first call. Bit-identical for any number of threads.
  void UpdateEma(absl::Span<const float> weights, WorkerPool& pool);

  // The exponential moving average. Empty before the first step, or if no
  // average is requested.
  absl::Span<float> ema() { return absl::MakeSpan(state_.ema); }

  // Adds the metrics and weights of the evaluation after `step` steps.
  void Observe(int64_t step, const std::map<std::string, double>& measured,
               absl::Span<const float> weights);

  // Whether training should end, because `patience` evaluations brought no
  // improvement.
  bool exhausted() const {
    return options_.patience > 0 &&
           state_.evaluations_without_gain >= options_.patience;
  }

  // Whether `value` is better than the best value by more than `min_gain`.
  bool IsGain(double value, double min_gain) const;

  // The weights to use before training has ended: the best weights, or the
  // moving average if there are no best weights. Empty if the last weights are
  // to be used.
  absl::Span<const float> chosen() const {
    return state_.best.empty() ? state_.ema : state_.best;
  }

  // Returns the mean of the last snapshots. Empty if no mean is requested.
  std::vector<float> AverageSnapshots() const;

  struct Snapshot {
    int64_t step;
    std::vector<float> weights;
  };
  // The state that checkpoints store.
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
