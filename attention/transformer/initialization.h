// Initial values of a Transformer's parameters.
#ifndef ATTENTION_TRANSFORMER_INITIALIZATION_H_
#define ATTENTION_TRANSFORMER_INITIALIZATION_H_

#include <cstdint>

#include "nn/initializers.h"
#include "nn/layers/linear.h"

namespace regard {

class TransformerInitialization;

LinearOptions LinearInitialization(const TransformerInitialization& config,
                                   bool bias);

// Options of the linear map that ends a residual branch, if the stack has
// `branches` residual branches.
LinearOptions BranchInitialization(const TransformerInitialization& config,
                                   bool bias, int64_t branches);

Initializer EmbeddingInitializer(const TransformerInitialization& config);

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_INITIALIZATION_H_
