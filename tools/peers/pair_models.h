// Models of one operation each: a loss of fixed inputs, seeded with fixed
// numbers.
#ifndef TOOLS_PEERS_PAIR_MODELS_H_
#define TOOLS_PEERS_PAIR_MODELS_H_

#include <memory>

#include "optimization/model.h"
#include "tools/peers/work_options.h"

namespace regard {

// The additive score of all pairs of queries and keys, projections included.
std::unique_ptr<Model<float>> MakeAdditivePairModel(const WorkOptions& options);

// Multi-head self-attention, four projections included.
std::unique_ptr<Model<float>> MakeMultiHeadModel(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_PAIR_MODELS_H_
