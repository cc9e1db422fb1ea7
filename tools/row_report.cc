#include "tools/row_report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace regard {

Table RowsTable(absl::Span<const SiteRowStatistics> sites, int64_t window) {
  Table table = {{"attention", "head", "entropy", "top key", "key 0",
                  absl::StrCat("last ", window)}};
  for (const SiteRowStatistics& of : sites) {
    for (int64_t head = 0; head < of.heads; ++head) {
      std::vector<std::string> row = {of.site, absl::StrCat(head)};
      for (const auto* values : {&of.entropy, &of.top, &of.first, &of.window}) {
        row.push_back(absl::StrFormat("%.3f", of.Mean(*values, head)));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

nlohmann::ordered_json RowsJson(absl::Span<const SiteRowStatistics> sites,
                                int64_t window) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SiteRowStatistics& of : sites) {
    nlohmann::ordered_json heads = nlohmann::ordered_json::array();
    for (int64_t head = 0; head < of.heads; ++head) {
      const auto part = [&](const auto& values) {
        const auto begin = values.begin() + head * of.queries;
        return nlohmann::ordered_json(std::vector(begin, begin + of.queries));
      };
      heads.push_back({{"sum", part(of.sum)},
                       {"entropy", part(of.entropy)},
                       {"top", part(of.top)},
                       {"top_key", part(of.top_key)},
                       {"first", part(of.first)},
                       {"window", part(of.window)}});
    }
    list.push_back({{"site", of.site}, {"heads", std::move(heads)}});
  }
  return {{"window", window}, {"rows", std::move(list)}};
}

}  // namespace regard
