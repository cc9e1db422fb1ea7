// The training program for several processes, which mpirun or srun starts
// (docs/several_machines.md).
#ifndef EXPERIMENTS_TRAINING_MPI_TRAIN_PROGRAM_H_
#define EXPERIMENTS_TRAINING_MPI_TRAIN_PROGRAM_H_

#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"

namespace regard {

// As TrainMain(), with the ranks of the MPI job. All of main().
int MpiTrainMain(int argc, char** argv, const Plugins& plugins,
                 absl::string_view default_config);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_MPI_TRAIN_PROGRAM_H_
