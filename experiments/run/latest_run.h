// The link `latest` in the folder of new runs, which names the run that was
// started or resumed last, so that programs need not be told which one.
#ifndef EXPERIMENTS_RUN_LATEST_RUN_H_
#define EXPERIMENTS_RUN_LATEST_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace regard {

// Name of the link, which lists of runs leave out.
inline constexpr char kLatestRun[] = "latest";

// Lets the link name `run_folder` if that is directly in NewRunsFolder().
// Otherwise does nothing: a baseline, a cell of a grid and a run elsewhere are
// never the latest. Processes may do this at the same time. FailedPrecondition
// if something else than a link has its name; it is left as it is.
absl::Status RecordLatestRun(const std::string& run_folder);

// The folder that the link names. NotFound without a link.
absl::StatusOr<std::string> LatestRun();

// The line on standard error of a program that uses LatestRun().
std::string LatestRunNote(const std::string& run_folder);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_LATEST_RUN_H_
