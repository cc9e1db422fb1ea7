// The workload of continuing texts with a language model of GPT-2's
// architecture and size.
#ifndef TOOLS_PEERS_GPT2_WORK_H_
#define TOOLS_PEERS_GPT2_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes the workload. A step reads `batch` prompts of `source_time` ids from
// TextData(), and continues each with the `target_time` most probable ids, with
// cached keys and values. NumbersToCompare() returns these ids.
std::unique_ptr<TimedWork> MakeGpt2Work(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_GPT2_WORK_H_
