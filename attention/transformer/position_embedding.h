// Position embedding, which adds a vector for the position to each embedding at
// the input of a Transformer.
#ifndef ATTENTION_TRANSFORMER_POSITION_EMBEDDING_H_
#define ATTENTION_TRANSFORMER_POSITION_EMBEDDING_H_

#include <cstdint>
#include <vector>

#include "attention/positions.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class PositionEmbeddingConfig;
class TransformerInitialization;

// Parameters: "weight" [longest, width] if the vectors are learned.
template <typename T>
class PositionEmbedding {
 public:
  PositionEmbedding(const PositionEmbeddingConfig& config,
                    const TransformerInitialization& initialization,
                    int64_t width, const ParameterScope<T>& scope);

  // Adds the vectors of the positions to x [batch, time, width], whose first
  // position is `first`. CHECK-fails on a position of longest_position() or
  // more.
  Var<T> operator()(Forward<T>& forward, Var<T> x, int64_t first) const;

  int64_t longest_position() const { return longest_; }

 private:
  Var<T> Sinusoids(Tape<T>& tape, int64_t first, int64_t count) const;

  int64_t longest_ = kUnlimited;
  Parameter<T> weight_;              // if learned
  std::vector<double> frequencies_;  // for each pair of columns, if sinusoidal
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_POSITION_EMBEDDING_H_
