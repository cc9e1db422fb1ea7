// The probe of a config: its interventions and statistics (intervention.proto).
//
// What it does to a value depends on the seed, the step, the site and the
// example alone (in evaluation on its place in the batch), so the bits are the
// same for any number of threads and after resuming.
#ifndef OPTIMIZATION_INTERVENTIONS_CONFIGURED_PROBE_H_
#define OPTIMIZATION_INTERVENTIONS_CONFIGURED_PROBE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/probe.h"
#include "nn/row_statistics.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/model.h"

namespace regard {

// A statistic of a site so far.
struct StatisticSum {
  SiteStatistic::Statistic statistic = SiteStatistic::STATISTIC_UNSPECIFIED;
  double value = 0;  // the largest element, or a sum over rows
  int64_t rows = 0;

  void Add(const StatisticSum& other);
  double Value() const;
};

// By the names under which they are reported. The steps of a recurrent decoder
// are one site, "probe/step[*]/decoder/attention/weights/entropy", unless the
// pattern chooses among them.
using StatisticSums = std::map<std::string, StatisticSum>;

template <typename T>
class ConfiguredProbe : public Probe<T> {
 public:
  // The requests outlive this, and fit the model.
  ConfiguredProbe(const SiteRequests& requests, uint64_t seed)
      : requests_(requests), seed_(seed) {}

  // This, for the update that follows `step` finished ones; null if nothing is
  // asked of it.
  Probe<T>* ForUpdate(int64_t step) { return Begin(step, /*updates=*/true); }
  // The same for an evaluation after `step` updates, in which there are no
  // statistics.
  Probe<T>* ForEvaluation(int64_t step) {
    return Begin(step, /*updates=*/false);
  }

  // Whether `replace { mean {} }` is asked for.
  bool has_means() const {
    return std::ranges::any_of(requests_.intervene, [](const auto& i) {
      return i.replace().has_mean();
    });
  }
  // Until it is ended with false, passes replace nothing, and what
  // `replace { mean {} }` is to replace is added to the means instead.
  void CollectMeans(bool collects) { collects_ = collects; }

  SiteWish Wish(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnRows(const std::string& site, const RowStatistics& rows) override;
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

  // Adds the statistics since the last call.
  void TakeStatistics(StatisticSums* sums);

 private:
  // Of each head and element of the last axis.
  struct MeanSum {
    std::vector<double> sums = {};
    int64_t count = 0;
  };

  Probe<T>* Begin(int64_t step, bool updates);
  bool InForce(const Intervention& intervention) const;
  bool Changes(const Intervention& intervention, const std::string& site) const;
  void AddToMean(const std::string& site, Var<T> value);
  bool IsDue(const SiteStatistic& statistic) const;
  // Calls f(statistic) for those that are due, of that site, and read its rows
  // or its value.
  template <typename F>
  void ForEachDue(const std::string& site, bool of_rows, F f) const;
  Var<T> Apply(Tape<T>& tape, const Intervention& intervention,
               const std::string& site, Var<T> value) const;

  const SiteRequests requests_;
  const uint64_t seed_;
  int64_t step_ = 0;
  bool updates_ = false;
  StatisticSums sums_;
  bool collects_ = false;
  std::map<std::string, MeanSum> means_;  // by sites with joined steps
};

// Finds the means of `replace { mean {} }`, if `probe`, which is that of
// `forward`, asks for them: over kMeanExamples training examples, spread
// evenly, or all if there are fewer, read one by one, so that there is no
// padding (but within an example of two texts), without dropout and other
// interventions.
inline constexpr int64_t kMeanExamples = 1000;
void FindMeans(uint64_t seed, Model<float>& model, Forward<float>& forward,
               ConfiguredProbe<float>& probe);

extern template class ConfiguredProbe<float>;
extern template class ConfiguredProbe<double>;

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_CONFIGURED_PROBE_H_
