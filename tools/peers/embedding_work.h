// Vectors of sentences by a BERT, as //tools:embed computes them.
#ifndef TOOLS_PEERS_EMBEDDING_WORK_H_
#define TOOLS_PEERS_EMBEDDING_WORK_H_

#include <memory>

#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// A batch of sentences of one length, given as ids. The numbers that must agree
// are the vector of the last one.
std::unique_ptr<TimedWork> MakeEmbeddingWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_EMBEDDING_WORK_H_
