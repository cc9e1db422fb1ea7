// Regard's form of each kind of work.
#ifndef TOOLS_PEERS_MAKE_WORK_H_
#define TOOLS_PEERS_MAKE_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// The work of options.kind; null for an unknown kind.
std::unique_ptr<TimedWork> MakeWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_MAKE_WORK_H_
