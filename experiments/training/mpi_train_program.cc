#include "experiments/training/mpi_train_program.h"

#include "experiments/training/train_program.h"
#include "nn/ranks/mpi_ranks.h"

namespace regard {

int MpiTrainMain(int argc, char** argv, const Plugins& plugins,
                 absl::string_view default_config) {
  MpiRanks ranks(&argc, &argv);
  return ranks.End(TrainMain(argc, argv, plugins, default_config, &ranks));
}

}  // namespace regard
