// The training points that a run of a regression keeps: its model is these and
// its weights.
#ifndef EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_
#define EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "data/nadaraya_watson_data.h"
#include "experiments/tasks/task.h"

namespace regard {

// Files of a run folder. Points that would make a file of more than 60 MiB have
// only their digest kept.
inline constexpr char kPointsFile[] = "training_points.json";
inline constexpr char kPointsDigestFile[] = "training_points.sha256";

// The file of the training points of `data`, their names and scales, by its
// name.
std::map<std::string, std::string> TrainingPointsFiles(
    const NadarayaWatsonData& data);

// Replaces the training points of `data` by those that a run has kept. `data`
// may be empty. Errors are complete to print: other columns, and, where the run
// has only a digest, other points. NotFound if the data have to be read.
absl::Status UseKeptPoints(const KeptFiles& kept, NadarayaWatsonData* data);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_
