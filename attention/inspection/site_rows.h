// Row statistics of the attention weights in a pass (nn/row_statistics.h).
// Blocked attention computes them without storing the weights, so memory is
// linear in the length of the input.
//
//   const std::vector<SiteRowStatistics> rows =
//       RecordRowStatistics(forward, 64, [&] { traced.pass(forward); });
#ifndef ATTENTION_INSPECTION_SITE_ROWS_H_
#define ATTENTION_INSPECTION_SITE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/row_statistics.h"
#include "nn/scoped_hook.h"

namespace regard {

// Statistics [heads, queries] of the first example. The steps of a recurrent
// decoder are the queries of one hook point.
struct SiteRowStatistics {
  std::string site;  // hook point of the weights; see AllStepsPattern()
  int64_t heads = 0;
  int64_t queries = 0;
  std::vector<double> sum = {};
  std::vector<double> entropy = {};
  std::vector<double> top = {};
  std::vector<int32_t> top_key = {};
  std::vector<double> first = {};
  std::vector<double> window = {};

  // Returns the mean of `values`, one of the statistics, over the rows of a
  // head whose weights are not all 0. Returns 0 if all rows have only weights
  // of 0.
  double Mean(const std::vector<double>& values, int64_t head) const;
};

// Reads the row statistics of all attention weights in a pass.
template <typename T>
class RowStatisticsRecorder : public Hook<T> {
 public:
  // SiteRowStatistics::window sums the weights of the last `window` >= 1 keys,
  // up to the query's own position.
  explicit RowStatisticsRecorder(int64_t window) : window_(window) {}

  HookRequest Request(const std::string& site) override;
  void OnRowStatistics(const std::string& site,
                       const AttentionStatistics& rows) override;

  // Statistics in the order of the pass.
  const std::vector<SiteRowStatistics>& seen() const { return seen_; }

 private:
  const int64_t window_;
  std::vector<SiteRowStatistics> seen_;
};

// Runs pass(), which computes on `forward`. Returns the row statistics of all
// attention layers in it.
template <typename T, typename F>
std::vector<SiteRowStatistics> RecordRowStatistics(Forward<T>& forward,
                                                   int64_t window, F pass) {
  RowStatisticsRecorder<T> recorder(window);
  const ScopedExtraHook<T> watch(forward, &recorder);
  pass();
  return recorder.seen();
}

}  // namespace regard

#endif  // ATTENTION_INSPECTION_SITE_ROWS_H_
