// The hook of a config, which applies its interventions and measures its
// statistics (intervention.proto).
//
// The change of a value depends only on the seed, the step, the hook point and
// the example. In evaluation, the index in the batch identifies the example.
// The results are therefore bit-identical for any number of threads and after
// resuming.
#ifndef OPTIMIZATION_INTERVENTIONS_CONFIGURED_HOOK_H_
#define OPTIMIZATION_INTERVENTIONS_CONFIGURED_HOOK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/row_statistics.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/model.h"

namespace regard {

// A statistic of a hook point, accumulated over rows.
struct AccumulatedStatistic {
  SiteStatistic::Statistic statistic = SiteStatistic::STATISTIC_UNSPECIFIED;
  double value = 0;  // the largest element, or a sum over rows
  int64_t rows = 0;

  void Add(const AccumulatedStatistic& other);
  double Value() const;
};

// Statistics, keyed by the names in reports. The steps of a recurrent decoder
// count as one hook point, as in
// "probe/step[*]/decoder/attention/weights/entropy". If the pattern selects
// single steps, each step has its own statistic.
using AccumulatedStatistics = std::map<std::string, AccumulatedStatistic>;

template <typename T>
class ConfiguredHook : public Hook<T> {
 public:
  // `requests` must outlive this object and fit the model.
  ConfiguredHook(const SiteRequestsView& requests, uint64_t seed)
      : requests_(requests), seed_(seed) {}

  // Returns this, prepared for the optimizer step after `step` finished steps,
  // or null if no request applies to this step.
  Hook<T>* BeginUpdate(int64_t step) { return Begin(step, /*updates=*/true); }
  // Returns this, prepared for an evaluation after `step` optimizer steps, or
  // null if no request applies to this evaluation. Evaluations measure no
  // statistics.
  Hook<T>* BeginEvaluation(int64_t step) {
    return Begin(step, /*updates=*/false);
  }

  // Whether the config contains `replace { mean {} }`.
  bool has_means() const {
    return std::ranges::any_of(requests_.intervene, [](const auto& i) {
      return i.replace().has_mean();
    });
  }
  // Starts or ends the collection of means. During the collection, passes
  // replace nothing, and the values that `replace { mean {} }` would replace
  // are added to the means.
  void SetMeanCollectionMode(bool collects) { collects_ = collects; }

  HookRequest Request(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnRowStatistics(const std::string& site,
                       const AttentionStatistics& rows) override;
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

  // Adds to `sums` the statistics that were measured since the last call.
  void TakeStatistics(AccumulatedStatistics* sums);

 private:
  // The sums for each head and element of the last axis.
  struct MeanSum {
    std::vector<double> sums = {};
    int64_t count = 0;
  };

  Hook<T>* Begin(int64_t step, bool updates);
  bool IsActive(const Intervention& intervention) const;
  bool ChangesSite(const Intervention& intervention,
                   const std::string& site) const;
  void AddToMean(const std::string& site, Var<T> value);
  bool IsDue(const SiteStatistic& statistic) const;
  // Calls f(statistic) for each statistic of hook point `site` that is due.
  // Selects row statistics if `of_rows` is true, and statistics of whole values
  // if it is false.
  template <typename F>
  void ForEachDue(const std::string& site, bool of_rows, F f) const;
  Var<T> Apply(Tape<T>& tape, const Intervention& intervention,
               const std::string& site, Var<T> value) const;

  const SiteRequestsView requests_;
  const uint64_t seed_;
  int64_t step_ = 0;
  bool updates_ = false;
  AccumulatedStatistics sums_;
  bool collects_ = false;
  std::map<std::string, MeanSum> means_;  // keyed by hook point
};

// Computes the means of `replace { mean {} }`. `hook` must be the hook of
// `forward`. A no-op if `hook` does not need means.
//
// The means are over kMeanExamples training examples, spread evenly, or over
// all examples if there are fewer. The examples are read one by one, so that
// there is no padding, except within an example of two texts. Dropout and other
// interventions are off.
inline constexpr int64_t kMeanExamples = 1000;
void CollectSiteMeans(uint64_t seed, Model<float>& model,
                      Forward<float>& forward, ConfiguredHook<float>& hook);

extern template class ConfiguredHook<float>;
extern template class ConfiguredHook<double>;

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_CONFIGURED_HOOK_H_
