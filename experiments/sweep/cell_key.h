// The key of a cell: a digest of everything that determines the bits of its
// result.
#ifndef EXPERIMENTS_SWEEP_CELL_KEY_H_
#define EXPERIMENTS_SWEEP_CELL_KEY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace regard {

class Experiment;

// SHA-256 digests of the parts of a key. They are separate, so that messages
// can state which part has changed.
struct CellKey {
  std::string config = {};
  std::string data = {};
  std::string program = {};

  // Returns the SHA-256 of all parts.
  std::string Digest() const;
  friend bool operator==(const CellKey&, const CellKey&) = default;
};

// Returns the key of a run with `config`. `data` is the SHA-256 of each file,
// by the config field that names it (Task::data_digests()). The key contains
// the digest of a file instead of its path. It does not depend on the fields
// name, note, tags, training.max_minutes and baseline. `level` is the
// instruction set. `compute_digest` is Plugins::compute_digest.
CellKey MakeCellKey(const Experiment& config,
                    const std::map<std::string, std::string>& data,
                    const std::string& level,
                    const std::string& compute_digest);

// Returns the key of a finished run from the records in its folder. Returns
// FailedPrecondition unless the records state that one program computed the
// whole run.
absl::StatusOr<CellKey> KeyOfRun(const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_KEY_H_
