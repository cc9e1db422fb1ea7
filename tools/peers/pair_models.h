// Models of a single operation with fixed inputs. The loss is the sum of the
// outputs times fixed weights, which are therefore the output gradients.
#ifndef TOOLS_PEERS_PAIR_MODELS_H_
#define TOOLS_PEERS_PAIR_MODELS_H_

#include <memory>

#include "optimization/model.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes a model of the additive score of all pairs of queries and keys,
// including projections.
std::unique_ptr<Model<float>> MakeAdditivePairModel(const WorkOptions& options);

// Makes a model of multi-head self-attention, including its four projections.
std::unique_ptr<Model<float>> MakeMultiHeadModel(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_PAIR_MODELS_H_
