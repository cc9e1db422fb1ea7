// The workload of causal attention with linear biases (ALiBi) over long
// sequences, without projections. Each thread computes one sequence.
#ifndef TOOLS_PEERS_ATTENTION_WORK_H_
#define TOOLS_PEERS_ATTENTION_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes the workload. If the kind is "attention", a step includes a backward
// pass from fixed gradients of the contexts.
std::unique_ptr<TimedWork> MakeAttentionWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_ATTENTION_WORK_H_
