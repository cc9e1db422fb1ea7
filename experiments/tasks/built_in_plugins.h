// The plug-ins of this repository.
#ifndef EXPERIMENTS_TASKS_BUILT_IN_PLUGINS_H_
#define EXPERIMENTS_TASKS_BUILT_IN_PLUGINS_H_

#include "experiments/tasks/plugins.h"

namespace regard {

void RegisterBuiltInPlugins(Plugins& plugins);

// A new set of them.
Plugins BuiltInPlugins();

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_BUILT_IN_PLUGINS_H_
