// The key of a cell: what determines the bits of its result.
#ifndef EXPERIMENTS_SWEEP_CELL_KEY_H_
#define EXPERIMENTS_SWEEP_CELL_KEY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace regard {

class Experiment;

// Parts of a key, SHA-256 each, so that a cell can tell which of them changed.
struct CellKey {
  std::string config = {};
  std::string data = {};
  std::string program = {};

  // SHA-256 over the parts.
  std::string Hex() const;
  friend bool operator==(const CellKey&, const CellKey&) = default;
};

// The key of a run with `config`. `data` has the SHA-256 of files by the name
// of the field that names them (Task::data_digests()): these fields count by
// content. The fields name, note, tags, training.max_minutes and baseline do
// not count. `level` names the instruction set, and `compute_digest` is
// Plugins::compute_digest.
CellKey MakeCellKey(const Experiment& config,
                    const std::map<std::string, std::string>& data,
                    const std::string& level,
                    const std::string& compute_digest);

// The key of a finished run, by what its folder records. FailedPrecondition if
// it does not record one program that computed all of it.
absl::StatusOr<CellKey> KeyOfRun(const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_KEY_H_
