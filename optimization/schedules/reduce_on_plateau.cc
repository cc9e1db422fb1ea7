// PyTorch's ReduceLROnPlateau, with a relative threshold.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "optimization/schedule.h"
#include "optimization/schedules/reduce_on_plateau.pb.h"

namespace regard {

class ReduceOnPlateauSchedule : public Schedule {
 public:
  using Options = ReduceOnPlateauScheduleConfig;

  ReduceOnPlateauSchedule(const Options& options,
                          const ScheduleContext& context)
      : options_(options), learning_rate_(context.learning_rate) {}

  static void Validate(const Options& options, ConfigProblems& problems) {
    if (options.metric().empty())
      problems.Add("metric", "must name a metric, such as dev/loss");
    problems.CheckRanges(options);
  }

  double LearningRate(int64_t) const override {
    // A rate that starts below the minimum stays as it is.
    return std::max(learning_rate_ * factor_,
                    std::min(options_.min_learning_rate(), learning_rate_));
  }

  std::string metric() const override { return options_.metric(); }

  void Observe(double metric) override {
    if (Improves(metric)) {
      best_ = metric;
      bad_evaluations_ = 0;
    } else if (++bad_evaluations_ > options_.patience()) {
      factor_ *= options_.decay();
      bad_evaluations_ = 0;
    }
  }

  ScheduleState state() const override {
    ScheduleState state = {
        {"factor", factor_},
        {"bad_evaluations", static_cast<double>(bad_evaluations_)}};
    if (best_.has_value()) state["best"] = *best_;
    return state;
  }

  absl::Status set_state(const ScheduleState& state) override {
    for (const char* name : {"factor", "bad_evaluations"}) {
      if (!state.contains(name)) return Wrong("has no number", name);
    }
    for (const auto& [name, value] : state) {
      if (name != "factor" && name != "bad_evaluations" && name != "best") {
        return Wrong("has an unknown number", name);
      }
      if (!std::isfinite(value))
        return Wrong("has a number that is not finite:", name);
      const double most = name == "factor" ? 1 : kMostEvaluations;
      if (name != "best" && (value < 0 || value > most)) {
        return Wrong("has a number that is out of range:", name);
      }
    }
    factor_ = state.at("factor");
    bad_evaluations_ = static_cast<int64_t>(state.at("bad_evaluations"));
    best_.reset();
    if (state.contains("best")) best_ = state.at("best");
    return absl::OkStatus();
  }

 private:
  static constexpr double kMostEvaluations = 1e6;

  static absl::Status Wrong(absl::string_view problem, absl::string_view name) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the state of reduce_on_plateau ", problem, " '", name, "'"));
  }

  // An infinite best value would have an undefined margin.
  bool Improves(double metric) const {
    if (!std::isfinite(metric)) return false;
    if (!best_.has_value()) return true;
    const double margin = options_.threshold() * std::abs(*best_);
    return options_.higher_is_better() ? metric > *best_ + margin
                                       : metric < *best_ - margin;
  }

  const Options options_;
  const double learning_rate_;
  double factor_ = 1;            // of the learning rate
  std::optional<double> best_;   // finite
  int64_t bad_evaluations_ = 0;  // since the best
};

REGARD_SCHEDULE(ReduceOnPlateauSchedule,
                "rate decay^(number of plateaus of the metric)")

}  // namespace regard
