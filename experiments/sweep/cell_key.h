// The key of a cell: what determines the bits of its result.
#ifndef EXPERIMENTS_SWEEP_CELL_KEY_H_
#define EXPERIMENTS_SWEEP_CELL_KEY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/experiment.pb.h"

namespace regard {

// Parts of a key, SHA-256 each, so that a cell can tell which of them changed.
struct CellKey {
  std::string config = {};
  std::string data = {};
  std::string program = {};

  // SHA-256 over the parts.
  std::string Hex() const;
  friend bool operator==(const CellKey&, const CellKey&) = default;
};

// A digest of the code that computes. Today it covers the whole executable, so
// every new build of the program changes it.
absl::StatusOr<std::string> ComputeDigest();

// The key of a run with `config`. `data` has the SHA-256 of files by the name
// of the field that names them (Task::data_digests()): these fields count by
// content. The fields name, note, tags, training.max_minutes and baseline do
// not count. `level` names the instruction set.
CellKey MakeCellKey(const Experiment& config,
                    const std::map<std::string, std::string>& data,
                    const std::string& level,
                    const std::string& compute_digest);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_KEY_H_
