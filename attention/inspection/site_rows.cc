#include "attention/inspection/site_rows.h"

#include <algorithm>

#include "attention/inspection/attention_maps.h"
#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Appends the queries of `array` to each head of `all`. `array` contains one
// statistic [heads, queries] of the first example in `rows`.
template <typename X>
void Append(const SiteRowStatistics& site, const AttentionStatistics& rows,
            const X* array, std::vector<X>* all) {
  for (int64_t head = 0; head < site.heads; ++head) {
    all->insert(
        all->begin() + head * (site.queries + rows.queries) + site.queries,
        array + head * rows.queries, array + (head + 1) * rows.queries);
  }
}

}  // namespace

double SiteRowStatistics::Mean(const std::vector<double>& values,
                               int64_t head) const {
  double total = 0;
  int64_t count = 0;
  for (int64_t i = head * queries; i < (head + 1) * queries; ++i) {
    if (sum[i] == 0) continue;
    total += values[i];
    ++count;
  }
  return count == 0 ? 0 : total / static_cast<double>(count);
}

template <typename T>
HookRequest RowStatisticsRecorder<T>::Request(const std::string& site) {
  if (!MatchesSite(kAllMaps, site)) return {};
  return {
      .rows = {
          .entropy = true, .top = true, .first = true, .windows = {window_}}};
}

template <typename T>
void RowStatisticsRecorder<T>::OnRowStatistics(
    const std::string& site, const AttentionStatistics& rows) {
  if (rows.batch == 0) return;
  const std::string name = AllStepsPattern(site);
  auto found = std::find_if(seen_.begin(), seen_.end(), [&](const auto& seen) {
    return seen.site == name;
  });
  if (found == seen_.end()) {
    found = seen_.insert(seen_.end(), {.site = name, .heads = rows.heads});
  }
  REGARD_CHECK_EQ(found->heads, rows.heads) << "heads of " << name;
  Append(*found, rows, rows.sum, &found->sum);
  Append(*found, rows, rows.entropy, &found->entropy);
  Append(*found, rows, rows.top, &found->top);
  Append(*found, rows, rows.top_key, &found->top_key);
  Append(*found, rows, rows.first, &found->first);
  Append(*found, rows, rows.CausalWindowSums(window_), &found->window);
  found->queries += rows.queries;
}

REGARD_INSTANTIATE_CLASS(RowStatisticsRecorder);

}  // namespace regard
