// The workloads of nanoGPT's language model, which are training and generation.
#ifndef TOOLS_PEERS_LANGUAGE_MODELS_H_
#define TOOLS_PEERS_LANGUAGE_MODELS_H_

#include <memory>

#include "optimization/model.h"
#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes a model to train. Its training examples are `batch` blocks of
// TextData() that do not overlap.
std::unique_ptr<Model<float>> MakeTextModel(const WorkOptions& options);

// Makes a workload. A step continues each of `batch` ids of TextData() with a
// block of the most probable ids, with cached keys and values.
std::unique_ptr<TimedWork> MakeGenerationWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_LANGUAGE_MODELS_H_
