// The sink of attention: one more logit z for each head. It takes weight from
// the keys and has no value, so a head may attend to nothing.
//
//   weight_k = exp(score_k) / (exp(z) + sum_j exp(score_j)).
//
// gpt-oss learns z (OpenAI, 2025, arXiv 2508.10925). The constant 0 is the
// "zero sink" of Xiao et al., "Efficient streaming language models with
// attention sinks", 2024, also called softmax plus one. If z is far below all
// scores, exp(z) is exactly 0, and the layer is plain attention.
//
// A sink belongs to the attention layer and works with every score. If the
// weights of a normalizer depend on each other, the normalizer receives z as
// the score of one more key.
#ifndef ATTENTION_SINK_H_
#define ATTENTION_SINK_H_

#include <cstdint>
#include <vector>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class Sink;

// Parameter: "logit" [heads], if the sink is learned.
template <typename T>
class AttentionSink {
 public:
  AttentionSink(const Sink& config, const ParameterScope<T>& scope,
                int64_t heads);

  // The logits, [heads].
  Var<T> Logits(Forward<T>& forward) const;

 private:
  int64_t heads_;
  T constant_;
  Parameter<T> learned_;  // empty if the logits are constant
};

}  // namespace regard

#endif  // ATTENTION_SINK_H_
