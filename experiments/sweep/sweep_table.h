// Shows how a sweep stands while it trains: a live table on a terminal, and
// plain lines elsewhere.
#ifndef EXPERIMENTS_SWEEP_SWEEP_TABLE_H_
#define EXPERIMENTS_SWEEP_SWEEP_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "experiments/report/progress.h"

namespace regard {

// The arms of a sweep by its seeds, a text for each cell.
struct SweepTable {
  std::vector<std::string> arms = {};
  std::vector<std::string> seeds = {};
  std::vector<std::vector<std::string>> cells = {};  // [arms][seeds]
  std::string summary = {};                          // a line below
};

// Lines of at most `width` columns. Arms that do not fit into `height` lines
// are counted instead of shown.
std::string SweepTableText(const SweepTable& table, int width, int height);

// Draws the table again in its place.
class LiveTable {
 public:
  explicit LiveTable(ProgressOutput output) : output_(std::move(output)) {}

  // Whether there is a terminal.
  bool live() const { return output_.width() > 0; }
  void Draw(const SweepTable& table);
  // Writes a line of its own, above the table.
  void Message(absl::string_view text);

 private:
  void Erase();

  const ProgressOutput output_;
  int lines_ = 0;  // that the table has on the screen
};

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_TABLE_H_
