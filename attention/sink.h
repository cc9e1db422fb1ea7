// The sink of attention: one more logit z for each head. It takes weight from
// the keys and has no value, so a head may attend to nothing:
//
//   weight_k = exp(score_k) / (exp(z) + sum_j exp(score_j)).
//
// Learned in gpt-oss (OpenAI, 2025, arXiv 2508.10925). The constant 0 is the
// "zero sink" of Xiao et al., "Efficient streaming language models with
// attention sinks", 2024, also called softmax plus one. Where z is far below
// all scores, exp(z) is exactly 0: plain attention.
//
// A sink belongs to the attention layer. Scores do not know it, and every
// normalizer whose weights compete has it as the score of one more key.
#ifndef ATTENTION_SINK_H_
#define ATTENTION_SINK_H_

#include <cstdint>
#include <vector>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class Sink;

// Parameter, if learned: "logit" [heads].
template <typename T>
class AttentionSink {
 public:
  AttentionSink(const Sink& config, const ParameterScope<T>& scope,
                int64_t heads);

  // [heads].
  Var<T> Logits(Forward<T>& forward) const;

 private:
  int64_t heads_;
  T constant_;
  Parameter<T> learned_;  // may be absent
};

}  // namespace regard

#endif  // ATTENTION_SINK_H_
