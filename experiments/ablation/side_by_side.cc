#include "experiments/ablation/side_by_side.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace regard {
namespace {

constexpr size_t kMostSources = 2;
// Squares drawn for one source: about 3 MB of page.
constexpr size_t kMostSquares = 50'000;

// The runs of a seed, one for each cell.
std::vector<const GridRun*> RunsToShow(const Grid& grid) {
  std::vector<const GridRun*> runs;
  const GridRun* first = nullptr;
  for (const GridRun& run : grid.runs) {
    if (first == nullptr && !run.maps.empty()) first = &run;
  }
  if (first == nullptr) return runs;
  for (const GridRun& run : grid.runs) {
    if (run.seed == first->seed) runs.push_back(&run);
  }
  return runs;
}

const LabelledMatrix* FindMap(const GridRun& run, const std::string& title) {
  for (const LabelledMatrix& map : run.maps) {
    if (map.title == title) return &map;
  }
  return nullptr;
}

// Titles with the number of runs that have them, in order of appearance.
std::vector<std::pair<std::string, int>> TitlesOf(
    const std::vector<const GridRun*>& runs) {
  std::vector<std::pair<std::string, int>> titles;
  for (const GridRun* run : runs) {
    for (const LabelledMatrix& map : run->maps) {
      // A run may show a source twice.
      if (FindMap(*run, map.title) != &map) continue;
      const auto found = std::find_if(
          titles.begin(), titles.end(),
          [&map](const auto& title) { return title.first == map.title; });
      if (found == titles.end()) {
        titles.emplace_back(map.title, 1);
      } else {
        ++found->second;
      }
    }
  }
  return titles;
}

}  // namespace

std::vector<SharedSource> AttentionSideBySide(const Grid& grid) {
  const std::vector<const GridRun*> runs = RunsToShow(grid);
  std::vector<std::pair<std::string, int>> titles = TitlesOf(runs);
  std::erase_if(titles, [](const auto& title) { return title.second < 2; });
  std::stable_sort(
      titles.begin(), titles.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  if (titles.size() > kMostSources) titles.resize(kMostSources);
  std::vector<SharedSource> sources;
  for (const auto& [title, count] : titles) {
    SharedSource source{.source = title, .seed = runs.front()->seed};
    size_t squares = 0;
    for (const GridRun* run : runs) {
      const std::string cell = CellName(grid, run->coordinates);
      const LabelledMatrix* const map = FindMap(*run, title);
      if (map == nullptr) {
        source.without.push_back(cell);
        continue;
      }
      squares += map->rows.size() * map->columns.size() * map->heads.size();
      if (squares > kMostSquares) {
        source.left_out.push_back(cell);
        continue;
      }
      source.maps.push_back(*map);
      source.maps.back().title = cell;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace regard
