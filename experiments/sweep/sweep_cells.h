// The cells of a sweep: what each would train, and how far it is.
#ifndef EXPERIMENTS_SWEEP_SWEEP_CELLS_H_
#define EXPERIMENTS_SWEEP_SWEEP_CELLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/sweep/cell_key.h"
#include "experiments/sweep/cell_records.h"
#include "experiments/sweep/expansion.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"

namespace regard {

// Parts of the program around a sweep. Both are called in child processes.
struct CellPrograms {
  // Reads the data of an experiment, checks that they fit it, and returns their
  // digests by the fields that name them. Errors are complete to print.
  std::function<absl::StatusOr<std::map<std::string, std::string>>(
      const LoadedConfig& loaded)>
      data_digests = {};
  // Trains a run with the arguments of `regard train`; returns its exit code.
  std::function<int(const std::vector<std::string>& arguments)> train = {};
};

enum class CellStage {
  kWaiting,   // to be trained, or trained further
  kFinished,  // by its run folder
  kRecorded,  // finished by a record; its run folder is elsewhere
  kFailed,    // its training failed
  kOther,     // its run folder is of another config, data or program
};

struct PlannedCell {
  size_t arm = 0;
  uint64_t seed = 0;
  std::string folder = {};  // the run folder
  CellKey key = {};
  CellStage state = CellStage::kWaiting;
  // Why it failed, or in what its run folder differs.
  std::string reason = {};
  CellRecord record = {};
  FinishedCell finished = {};  // in stage kRecorded

  std::string RecordPath() const { return folder + ".json"; }
  std::string LogPath() const { return folder + ".log"; }
  bool IsFinished() const {
    return state == CellStage::kFinished || state == CellStage::kRecorded;
  }
};

struct SweepCells {
  SweepPlan plan = {};
  std::vector<LoadedConfig> configs =
      {};                               // one for each arm, with the first seed
  std::vector<PlannedCell> cells = {};  // in the order of training

  // "dot/seed-3".
  std::string Name(const PlannedCell& cell) const;
  // The arguments of `regard train`.
  std::vector<std::string> TrainArguments(const PlannedCell& cell,
                                          const Sweep& sweep,
                                          int threads) const;
};

struct SweepOptions {
  std::string out = {};    // the folder, resolved
  std::string cells = {};  // a file of finished cells; may be empty
  // A folder whose finished runs are copied; may be empty.
  std::string import_from = {};
  int threads = 1;       // for each run
  int jobs = 1;          // runs at the same time
  bool collect = false;  // trains nothing
  bool replace = false;  // trains cells in stage kOther again
};

// Checks the config and the data of every arm, `jobs` at the same time, and
// finds the keys of the cells, which have no folders yet. The error is complete
// to print and shows what is wrong in all arms.
absl::StatusOr<SweepCells> CheckSweep(const SweepSource& source, int jobs,
                                      const CellPrograms& programs,
                                      const Plugins& plugins);

// Checks the same, and finds out how far each cell is in the folder
// `options.out`. Nothing has been written when there is an error.
absl::StatusOr<SweepCells> PlanSweep(const SweepSource& source,
                                     const SweepOptions& options,
                                     const CellPrograms& programs,
                                     const Plugins& plugins);

// Finds the state of a cell again from its folder and record. `known` has
// finished cells by their keys.
void UpdateState(const std::map<std::string, FinishedCell>& known,
                 PlannedCell& cell);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_CELLS_H_
