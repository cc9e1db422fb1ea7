// Formats statistics of the rows of attention weights for `inspect --rows`.
#ifndef TOOLS_ROW_REPORT_H_
#define TOOLS_ROW_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "attention/inspection/site_rows.h"
#include "experiments/report/run_results.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns a table with one row for each head: the means over its queries.
Table RowsTable(absl::Span<const SiteRowStatistics> sites, int64_t window);

// Returns the statistics in the format of docs/json.md.
nlohmann::ordered_json RowsJson(absl::Span<const SiteRowStatistics> sites,
                                int64_t window);

}  // namespace regard

#endif  // TOOLS_ROW_REPORT_H_
