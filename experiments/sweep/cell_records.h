// Records of cells. cells.jsonl has the results of finished cells. A file next
// to each run folder describes the run that is trained there.
#ifndef EXPERIMENTS_SWEEP_CELL_RECORDS_H_
#define EXPERIMENTS_SWEEP_CELL_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "experiments/sweep/cell_key.h"

namespace regard {

// A line of cells.jsonl.
struct CellResult {
  std::string key = {};
  std::string arm = {};
  uint64_t seed = 0;
  std::map<std::string, double> metrics = {};
  std::string weights_digest = {};
  double core_seconds = 0;  // total of all processes of the cell
  std::string host = {};    // name of the machine that finished the cell
};

std::string CellResultsText(absl::Span<const CellResult> cells);

// Reads a file in the format of cells.jsonl. Error messages can be printed as
// they are.
absl::StatusOr<std::vector<CellResult>> ReadCellResults(
    const std::string& path);

// The content of the file next to a run folder.
struct CellTrainingRecord {
  CellKey key = {};
  // Exit code of the last process that ended, or 0 if none has ended. If a
  // signal ended the process, the code is 128 plus the number of the signal.
  int exit_code = 0;
  std::string failure = {};  // the last line that a failed process wrote
  double core_seconds = 0;
  std::string host = {};
};

absl::Status WriteCellTrainingRecord(const std::string& path,
                                     const CellTrainingRecord& record);
absl::StatusOr<CellTrainingRecord> ReadCellTrainingRecord(
    const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_RECORDS_H_
