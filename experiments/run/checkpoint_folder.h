// Where the checkpoints of a run are: in `checkpoints/` of its folder, or on
// another disk (docs/run_folder.md). Then a record on either side names the
// other and has the same id, so that no run takes or prunes those of another.
#ifndef EXPERIMENTS_RUN_CHECKPOINT_FOLDER_H_
#define EXPERIMENTS_RUN_CHECKPOINT_FOLDER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"

namespace regard {

inline constexpr char kCheckpointRecord[] = "checkpoints.json";

struct CheckpointRecord {
  // In a run's folder, that of its checkpoints; in the latter, the run's.
  // Absolute and without links.
  std::string path = {};
  // A digest of the run's config and data.
  std::string id = {};
};

// The record in a folder; absent if there is none.
absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpointRecord(
    const std::string& folder, FileOperations& files = SystemFiles());

// The folder that holds `step-N/` and snapshots. A FailedPrecondition if the
// record names a folder that has none, or one of another id.
absl::StatusOr<std::string> CheckpointFolder(
    const std::string& run_folder, FileOperations& files = SystemFiles());

// Records that the checkpoints of a run are in `folder`, which exists and is
// locked. `id` is that of the run if it has no record yet. A FailedPrecondition
// that changes nothing if the folder is that of another run, or if the run has
// checkpoints elsewhere. The folder of a run that has a record may have moved.
absl::Status RecordCheckpointFolder(const std::string& run_folder,
                                    const std::string& folder,
                                    absl::string_view id,
                                    FileOperations& files = SystemFiles());

}  // namespace regard

#endif  // EXPERIMENTS_RUN_CHECKPOINT_FOLDER_H_
