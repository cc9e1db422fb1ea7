// Regard's implementation of each kind of workload.
#ifndef TOOLS_PEERS_MAKE_WORK_H_
#define TOOLS_PEERS_MAKE_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes the workload options.kind. Returns null for an unknown kind.
std::unique_ptr<TimedWork> MakeWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_MAKE_WORK_H_
