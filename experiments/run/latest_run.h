// The symbolic link `runs/latest`, which points to the run that was started or
// resumed last. Programs use this run if the user names no run.
#ifndef EXPERIMENTS_RUN_LATEST_RUN_H_
#define EXPERIMENTS_RUN_LATEST_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace regard {

// The name of the link. Lists of runs skip it.
inline constexpr char kLatestRun[] = "latest";

// Sets the link to `run_folder` if this folder is directly in NewRunsFolder().
// Otherwise, does nothing, so baselines, cells of a grid and runs elsewhere
// never become the latest run. Several processes may call this function at the
// same time. If the path of the link is taken by something other than a link,
// returns FailedPrecondition and does not change it.
absl::Status RecordLatestRun(const std::string& run_folder);

// Returns the run folder to which the link points. Returns NotFound if there is
// no link.
absl::StatusOr<std::string> LatestRun();

// Returns the line that a program prints to standard error when it uses
// LatestRun().
std::string LatestRunNote(const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_LATEST_RUN_H_
