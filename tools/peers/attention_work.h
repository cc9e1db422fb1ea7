// Causal attention with linear biases (ALiBi) over given queries, keys and
// values of long sequences, each by one thread.
#ifndef TOOLS_PEERS_ATTENTION_WORK_H_
#define TOOLS_PEERS_ATTENTION_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Forward, and backward from fixed gradients of the contexts if the kind is
// "attention".
std::unique_ptr<TimedWork> MakeAttentionWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_ATTENTION_WORK_H_
