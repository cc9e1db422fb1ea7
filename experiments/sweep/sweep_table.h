// Shows the progress of a sweep: a live table on a terminal, plain lines
// elsewhere.
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

// A table with a row for each arm, a column for each seed, and a text in each
// cell.
struct SweepTable {
  std::vector<std::string> arms = {};
  std::vector<std::string> seeds = {};
  std::vector<std::vector<std::string>> cells = {};  // [arms][seeds]
  std::string summary = {};                          // a line below the table
};

// Returns lines of at most `width` columns. If not all arms fit into `height`
// lines, the last line states the number of omitted arms.
std::string SweepTableText(const SweepTable& table, int width, int height);

// A table that is redrawn in place.
class LiveTable {
 public:
  explicit LiveTable(ProgressOutput output) : output_(std::move(output)) {}

  // Whether there is a terminal.
  bool live() const { return output_.width() > 0; }
  void Draw(const SweepTable& table);
  // Writes a separate line above the table.
  void Message(absl::string_view text);

 private:
  void Erase();

  const ProgressOutput output_;
  int lines_ = 0;  // number of lines on the screen
};

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_TABLE_H_
