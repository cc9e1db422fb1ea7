#include "experiments/ablation/grid.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace regard {

std::vector<GridCell> CellsOf(const Grid& grid) {
  std::vector<GridCell> cells;
  std::map<std::vector<size_t>, size_t> index;
  for (const GridRun& run : grid.runs) {
    const auto [place, is_new] = index.emplace(run.coordinates, cells.size());
    if (is_new) cells.push_back({run.coordinates, {}});
    cells[place->second].runs.push_back(&run);
  }
  return cells;
}

std::string ValueName(const Axis& axis, size_t value) {
  const std::string& label = axis.values[value].label;
  double number = 0;
  bool truth = false;
  if (!absl::SimpleAtod(label, &number) && !absl::SimpleAtob(label, &truth)) {
    return label;
  }
  const size_t dot = axis.name.rfind('.');
  const size_t last = dot == std::string::npos ? 0 : dot + 1;
  return absl::StrCat(axis.name.substr(last), " ", label);
}

std::string CellName(const Grid& grid, const std::vector<size_t>& coordinates) {
  std::vector<std::string> names;
  for (size_t a = 0; a < coordinates.size(); ++a) {
    names.push_back(ValueName(grid.axes[a], coordinates[a]));
  }
  return absl::StrJoin(names, ", ");
}

std::vector<std::string> MetricsToShow(const Grid& grid) {
  if (!grid.metrics.empty()) return grid.metrics;
  std::set<std::string> all;
  for (const GridRun& run : grid.runs) {
    for (const auto& [name, value] : run.metrics) all.insert(name);
  }
  for (const char* prefix : {"test/", "dev/", ""}) {
    std::vector<std::string> chosen;
    for (const std::string& name : all) {
      if (absl::StartsWith(name, prefix)) chosen.push_back(name);
    }
    if (!chosen.empty()) return chosen;
  }
  return {};
}

std::vector<double> ValuesOf(const GridCell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const GridRun* run : cell.runs) {
    const auto found = run->metrics.find(metric);
    if (found != run->metrics.end()) values.push_back(found->second);
  }
  return values;
}

}  // namespace regard
