// Stores the training points of a regression in its run folder. The model
// consists of these points and its weights.
#ifndef EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_
#define EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "data/nadaraya_watson_data.h"
#include "experiments/tasks/task.h"

namespace regard {

// Names of files in a run folder. If the points would take more than 60 MiB,
// only their digest is stored.
inline constexpr char kPointsFile[] = "training_points.json";
inline constexpr char kPointsDigestFile[] = "training_points.sha256";

// Returns the files that store the training points of `data`, and the names and
// scales of the columns. The result maps the name of a file to its content.
std::map<std::string, std::string> TrainingPointsFiles(
    const RegressionData& data);

// Replaces the training points of `data`, which may be empty, by the points
// that the run has stored. Returns an error if the columns differ, or if the
// run has stored only a digest and the points differ from it. Returns NotFound
// if the data must be read. Error messages can be printed as they are.
absl::Status UseStoredPoints(const StoredFiles& kept, RegressionData* data);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_REGRESSION_TRAINING_POINTS_H_
