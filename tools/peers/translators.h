// Workloads that train a translation model or translate with it. The model is
// Bahdanau's recurrent model or a Transformer.
#ifndef TOOLS_PEERS_TRANSLATORS_H_
#define TOOLS_PEERS_TRANSLATORS_H_

#include <memory>

#include "optimization/model.h"
#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes a model to train. Its training examples are PairData(options).
std::unique_ptr<Model<float>> MakeTranslationModel(const WorkOptions& options);

// Makes a workload. A step translates the sources of PairData(options).
std::unique_ptr<TimedWork> MakeSearchWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_TRANSLATORS_H_
