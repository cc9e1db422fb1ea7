// Lists the operations of a model that multiply matrices, with their precision.
#ifndef OPTIMIZATION_PRODUCT_CENSUS_H_
#define OPTIMIZATION_PRODUCT_CENSUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "optimization/model.h"

namespace regard {

// The matrix products of one operation in one scope.
struct OperationFlops {
  std::string scope;      // such as "decoder/layer[0]/attention"
  std::string operation;  // such as "Linear"
  // The number of floating-point operations of the forward pass, and how many
  // of them are in products with rounded operands.
  int64_t flops = 0;
  int64_t rounded_flops = 0;
};

// Runs the model on a few examples, in the precision of its parameters. Returns
// the operations with products, in the order in which they first run.
std::vector<OperationFlops> CountOperationFlops(Model<float>& model,
                                                uint64_t seed);

}  // namespace regard

#endif  // OPTIMIZATION_PRODUCT_CENSUS_H_
