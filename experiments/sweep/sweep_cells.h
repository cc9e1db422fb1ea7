// The cells of a sweep, with the run and the progress of each cell.
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

// Functions that a sweep calls in child processes.
struct CellFunctions {
  // Reads the data of an experiment, checks that the config matches them, and
  // returns their digests by the config fields that name them. Error messages
  // can be printed as they are.
  std::function<absl::StatusOr<std::map<std::string, std::string>>(
      const LoadedConfig& loaded)>
      data_digests = {};
  // Trains a run with the arguments of `regard train`, and returns its exit
  // code.
  std::function<int(const std::vector<std::string>& arguments)> train = {};
};

enum class SweepCellState {
  kWaiting,   // waits to be trained, or trained further
  kFinished,  // its run folder has a finished run
  kRecorded,  // a record has the result; its run folder is elsewhere
  kFailed,    // its training failed
  kOther,     // its run folder has another config, data or program
};

struct CellWithState {
  size_t arm = 0;
  uint64_t seed = 0;
  std::string folder = {};  // the run folder
  CellKey key = {};
  SweepCellState state = SweepCellState::kWaiting;
  // The failure in state kFailed, or the difference in state kOther.
  std::string reason = {};
  CellTrainingRecord record = {};
  CellResult finished = {};  // only in state kRecorded

  std::string RecordPath() const { return folder + ".json"; }
  std::string LogPath() const { return folder + ".log"; }
  bool IsFinished() const {
    return state == SweepCellState::kFinished ||
           state == SweepCellState::kRecorded;
  }
};

struct SweepCells {
  ExpandedSweep plan = {};
  // One for each arm, with the first seed.
  std::vector<LoadedConfig> configs = {};
  std::vector<CellWithState> cells = {};  // cells in the order of training

  // Returns the name of a cell, such as "dot/seed-3".
  std::string Name(const CellWithState& cell) const;
  // Returns the arguments with which `regard train` trains a cell.
  std::vector<std::string> TrainArguments(const CellWithState& cell,
                                          const Sweep& sweep,
                                          int threads) const;
};

struct SweepOptions {
  std::string out = {};    // the directory of the sweep, resolved
  std::string cells = {};  // a file of finished cells; may be empty
  // A folder from which finished runs are copied. May be empty.
  std::string import_from = {};
  int threads = 1;       // per run
  int jobs = 1;          // number of runs at the same time
  bool collect = false;  // whether to train nothing
  bool replace = false;  // whether to train cells in state kOther again
};

// Checks the config and the data of every arm, `jobs` at the same time.
// Computes the keys of the cells, but not their folders. An error contains the
// errors of all arms, and can be printed as it is.
absl::StatusOr<SweepCells> CheckSweep(const SweepWithOrigins& source, int jobs,
                                      const CellFunctions& functions,
                                      const Plugins& plugins);

// Like CheckSweep(), but also finds the progress of each cell in `options.out`.
// Writes nothing if there is an error.
absl::StatusOr<SweepCells> PlanSweep(const SweepWithOrigins& source,
                                     const SweepOptions& options,
                                     const CellFunctions& functions,
                                     const Plugins& plugins);

// Updates the state of a cell from its folder and record. `known` contains
// finished cells by key.
void UpdateCellState(const std::map<std::string, CellResult>& known,
                     CellWithState& cell);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_SWEEP_CELLS_H_
