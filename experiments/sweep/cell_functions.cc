#include "experiments/sweep/cell_functions.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autodiff/worker_pool.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/training/prepared_task.h"
#include "experiments/training/run_pages.h"
#include "experiments/training/train_program.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

CellFunctions MakeCellFunctions(const Plugins& plugins) {
  using Digests = std::map<std::string, std::string>;
  return {
      .data_digests =
          [&plugins](const LoadedConfig& loaded) -> absl::StatusOr<Digests> {
        FlushDenormalsToZero();
        REGARD_ASSIGN_OR_RETURN(const PreparedTask fitting,
                                PrepareTask(loaded, "", plugins, nullptr));
        return DataDigests(loaded.config.training(), *fitting.task);
      },
      .train =
          [&plugins](const std::vector<std::string>& arguments) {
            std::vector<std::string> all = {"train"};
            all.insert(all.end(), arguments.begin(), arguments.end());
            std::vector<char*> argv;
            for (std::string& argument : all) argv.push_back(argument.data());
            argv.push_back(nullptr);
            return TrainMain(static_cast<int>(all.size()), argv.data(), plugins,
                             /*default_config=*/"", &RunPages());
          }};
}

}  // namespace regard
