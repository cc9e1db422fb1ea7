// The learning rate as a function of the update, and of what was observed.
#ifndef NN_SCHEDULE_H_
#define NN_SCHEDULE_H_

#include <cstdint>
#include <string>

#include "nn/optimizer.pb.h"

namespace regard {

// base^exponent by repeated squaring: the same bits from every C library.
double IntegerPower(double base, int64_t exponent);

// What a checkpoint keeps of a schedule; the update itself is the trainer's.
struct ScheduleState {
  double factor = 1;            // reached by reduce_on_plateau
  bool has_best = false;        // whether a metric was observed
  double best = 0;              // of the metric
  int32_t bad_evaluations = 0;  // since the best
};

class Schedule {
 public:
  // `config` is valid.
  explicit Schedule(const OptimizerConfig& config);

  // The rate of update number `update`, counted from 1.
  double LearningRate(int64_t update) const;

  // Metric that Observe() wants, such as "dev/loss"; empty for none.
  std::string metric() const;
  void Observe(double metric);

  const ScheduleState& state() const { return state_; }
  void set_state(const ScheduleState& state) { state_ = state; }

 private:
  double Factor(int64_t update) const;

  ScheduleConfig config_;
  double learning_rate_;
  ScheduleState state_;
};

}  // namespace regard

#endif  // NN_SCHEDULE_H_
