#include "optimization/schedules/schedules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autodiff/kernels/integer_power.h"
#include "optimization/option_range.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr double kMaxEvaluations = 1e6;
constexpr double kMaxUpdates = 1e12;

absl::Status WrongState(absl::string_view problem, absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the state of reduce_on_plateau ", problem, " '", name, "'"));
}

void CheckUpdate(int64_t update) {
  REGARD_CHECK_GE(update, 1) << "updates count from 1: the first one has the "
                             << "learning rate LearningRate(1)";
}

}  // namespace

double ConstantSchedule::LearningRate(int64_t update) const {
  CheckUpdate(update);
  return learning_rate_;
}

ExponentialSchedule::ExponentialSchedule(const ExponentialOptions& options,
                                         const ScheduleContext& context)
    : options_(options), learning_rate_(context.learning_rate) {
  CheckOption("ExponentialOptions::decay", options.decay, 1e-6, 1);
  CheckOption("ExponentialOptions::interval",
              static_cast<double>(options.interval), 1, kMaxUpdates);
}

double ExponentialSchedule::LearningRate(int64_t update) const {
  CheckUpdate(update);
  return learning_rate_ *
         IntegerPower(options_.decay, (update - 1) / options_.interval);
}

InverseSquareRootSchedule::InverseSquareRootSchedule(
    const InverseSquareRootOptions& options, const ScheduleContext& context)
    : warmup_(options.warmup), learning_rate_(context.learning_rate) {
  CheckOption("InverseSquareRootOptions::warmup",
              static_cast<double>(options.warmup), 1, kMaxUpdates);
}

double InverseSquareRootSchedule::LearningRate(int64_t update) const {
  CheckUpdate(update);
  const auto now = static_cast<double>(update);
  const auto warmup = static_cast<double>(warmup_);
  return learning_rate_ * std::min(now / warmup, std::sqrt(warmup / now));
}

DecaySchedule::DecaySchedule(const DecayOptions& options,
                             const ScheduleContext& context)
    : options_(options), context_(context) {
  CheckOption("DecayOptions::warmup", static_cast<double>(options.warmup), 0,
              kMaxUpdates);
  CheckOption("DecayOptions::updates", static_cast<double>(options.updates), 0,
              kMaxUpdates);
  CheckOption("DecayOptions::floor", options.floor, 0, 1);
  CheckOption("DecayOptions::power", options.power, 0.01, 100);
}

double DecaySchedule::LearningRate(int64_t update) const {
  CheckUpdate(update);
  // The constructor does not check this, because a run without optimizer steps
  // also has a schedule.
  const int64_t updates =
      options_.updates > 0 ? options_.updates : context_.total_updates;
  REGARD_CHECK_GE(updates, 1)
      << "the decay has no end: set ScheduleContext::total_updates, or "
      << "DecayOptions::updates";
  const int64_t warmup = options_.warmup;
  if (update <= warmup) {
    return context_.learning_rate * static_cast<double>(update) /
           static_cast<double>(warmup);
  }
  const double progress = update >= updates
                              ? 1
                              : static_cast<double>(update - warmup) /
                                    static_cast<double>(updates - warmup);
  const double floor = options_.floor;
  return context_.learning_rate * (floor + (1 - floor) * Remaining(progress));
}

double CosineSchedule::Remaining(double progress) const {
  return 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double PolynomialSchedule::Remaining(double progress) const {
  return std::pow(1 - progress, options().power);
}

ReduceOnPlateauSchedule::ReduceOnPlateauSchedule(const PlateauOptions& options,
                                                 const ScheduleContext& context)
    : options_(options), learning_rate_(context.learning_rate) {
  CheckOption("PlateauOptions::decay", options.decay, 1e-6, 0.999999);
  CheckOption("PlateauOptions::patience", static_cast<double>(options.patience),
              0, kMaxEvaluations);
  CheckOption("PlateauOptions::min_learning_rate", options.min_learning_rate, 0,
              1e6);
  CheckOption("PlateauOptions::threshold", options.threshold, 0, 0.999999);
}

double ReduceOnPlateauSchedule::LearningRate(int64_t update) const {
  CheckUpdate(update);
  // A rate that starts below the minimum stays constant.
  return std::max(learning_rate_ * factor_,
                  std::min(options_.min_learning_rate, learning_rate_));
}

void ReduceOnPlateauSchedule::Observe(double metric) {
  if (IsImprovement(metric)) {
    best_ = metric;
    bad_evaluations_ = 0;
  } else if (++bad_evaluations_ > options_.patience) {
    factor_ *= options_.decay;
    bad_evaluations_ = 0;
  }
}

ScheduleState ReduceOnPlateauSchedule::state() const {
  ScheduleState state = {
      {"factor", factor_},
      {"bad_evaluations", static_cast<double>(bad_evaluations_)}};
  if (best_.has_value()) state["best"] = *best_;
  return state;
}

absl::Status ReduceOnPlateauSchedule::set_state(const ScheduleState& state) {
  for (const char* name : {"factor", "bad_evaluations"}) {
    if (!state.contains(name)) return WrongState("has no number", name);
  }
  for (const auto& [name, value] : state) {
    if (name != "factor" && name != "bad_evaluations" && name != "best") {
      return WrongState("has an unknown number", name);
    }
    if (!std::isfinite(value)) {
      return WrongState("has a number that is not finite:", name);
    }
    const double highest = name == "factor" ? 1 : kMaxEvaluations;
    if (name != "best" && (value < 0 || value > highest)) {
      return WrongState("has a number that is out of range:", name);
    }
  }
  factor_ = state.at("factor");
  bad_evaluations_ = static_cast<int64_t>(state.at("bad_evaluations"));
  best_.reset();
  if (state.contains("best")) best_ = state.at("best");
  return absl::OkStatus();
}

// An infinite best value would have an undefined margin.
bool ReduceOnPlateauSchedule::IsImprovement(double metric) const {
  if (!std::isfinite(metric)) return false;
  if (!best_.has_value()) return true;
  const double margin = options_.threshold * std::abs(*best_);
  return options_.higher_is_better ? metric > *best_ + margin
                                   : metric < *best_ - margin;
}

}  // namespace regard
