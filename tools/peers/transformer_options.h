// The Transformer of a work.
#ifndef TOOLS_PEERS_TRANSFORMER_OPTIONS_H_
#define TOOLS_PEERS_TRANSFORMER_OPTIONS_H_

#include "attention/transformer/transformer.pb.h"
#include "tools/peers/work_options.h"

namespace regard {

// Its sizes, and attention without biases.
TransformerConfig TransformerOf(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_TRANSFORMER_OPTIONS_H_
