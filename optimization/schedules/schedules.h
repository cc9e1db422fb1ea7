// The built-in schedules. The messages in this directory state formulas and
// ranges. The `learning_rate` of the context is the highest rate.
#ifndef OPTIMIZATION_SCHEDULES_SCHEDULES_H_
#define OPTIMIZATION_SCHEDULES_SCHEDULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "optimization/schedule.h"

namespace regard {

class ConstantSchedule : public Schedule {
 public:
  explicit ConstantSchedule(double learning_rate)
      : learning_rate_(learning_rate) {}

  double LearningRate(int64_t update) const override;

 private:
  const double learning_rate_;
};

struct ExponentialOptions {
  double decay = 0.5;
  int64_t interval = 1000;  // optimizer steps from one decay to the next
};

class ExponentialSchedule : public Schedule {
 public:
  ExponentialSchedule(const ExponentialOptions& options,
                      const ScheduleContext& context);

  double LearningRate(int64_t update) const override;

 private:
  const ExponentialOptions options_;
  const double learning_rate_;
};

struct InverseSquareRootOptions {
  int64_t warmup = 4000;  // optimizer steps; at least 1
};

// The schedule of Vaswani et al., "Attention is all you need", 2017.
class InverseSquareRootSchedule : public Schedule {
 public:
  InverseSquareRootSchedule(const InverseSquareRootOptions& options,
                            const ScheduleContext& context);

  int64_t warmup() const override { return warmup_; }
  double LearningRate(int64_t update) const override;

 private:
  const int64_t warmup_;
  const double learning_rate_;
};

struct DecayOptions {
  int64_t warmup = 0;   // optimizer steps of the linear rise from 0
  int64_t updates = 0;  // the step that reaches the floor; 0: the last one
  double floor = 0;     // a fraction of the highest rate
  double power = 1;     // only used by PolynomialSchedule
};

// A linear warm-up, followed by a decay to a floor. If `rate` is the learning
// rate of the context, the learning rate of step `update` is
//
//   rate * update / warmup                                during the warm-up
//   rate * (floor + (1 - floor) * Remaining(progress))    after the warm-up,
//
// where `progress` grows from 0 to 1 at `updates` and then stays 1.
class DecaySchedule : public Schedule {
 public:
  DecaySchedule(const DecayOptions& options, const ScheduleContext& context);

  int64_t warmup() const final { return options_.warmup; }
  double LearningRate(int64_t update) const final;

 protected:
  // Decreases from 1 at progress 0 to 0 at progress 1.
  virtual double Remaining(double progress) const = 0;

  const DecayOptions& options() const { return options_; }

 private:
  const DecayOptions options_;
  const ScheduleContext context_;
};

// Remaining(progress) = (1 + cos(pi progress)) / 2.
class CosineSchedule : public DecaySchedule {
 public:
  using DecaySchedule::DecaySchedule;

 protected:
  double Remaining(double progress) const override;
};

// Remaining(progress) = (1 - progress)^power.
class PolynomialSchedule : public DecaySchedule {
 public:
  using DecaySchedule::DecaySchedule;

 protected:
  double Remaining(double progress) const override;
};

struct PlateauOptions {
  std::string metric = "dev/loss";
  bool higher_is_better = false;
  double decay = 0.5;
  // The rate stays the same for this number of successive evaluations without
  // an improvement. The next such evaluation lowers the rate.
  int64_t patience = 5;
  double min_learning_rate = 0;
  double threshold = 1e-4;  // minimum improvement, relative to the best
};

// PyTorch's ReduceLROnPlateau with a relative threshold.
class ReduceOnPlateauSchedule : public Schedule {
 public:
  ReduceOnPlateauSchedule(const PlateauOptions& options,
                          const ScheduleContext& context);

  double LearningRate(int64_t update) const override;
  std::string metric() const override { return options_.metric; }
  void Observe(double metric) override;
  ScheduleState state() const override;
  absl::Status set_state(const ScheduleState& state) override;

 private:
  bool IsImprovement(double metric) const;

  const PlateauOptions options_;
  const double learning_rate_;
  double factor_ = 1;            // factor of the learning rate
  std::optional<double> best_;   // always finite
  int64_t bad_evaluations_ = 0;  // evaluations since the best one
};

}  // namespace regard

#endif  // OPTIMIZATION_SCHEDULES_SCHEDULES_H_
