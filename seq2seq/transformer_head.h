// The output head of a Transformer, W x + b. With config.output_transform(), it
// first transforms its input:
//
//   W norm(f(V x + c)) + b
//
// Here f is the activation of the layers, or GELU if the activation is SwiGLU.
// Devlin et al., "BERT", 2019.
#ifndef SEQ2SEQ_TRANSFORMER_HEAD_H_
#define SEQ2SEQ_TRANSFORMER_HEAD_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attention/transformer/residual.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "seq2seq/output_head.h"

namespace regard {

// Has the parameters of a LinearHead and, with a transform,
// "transform.{weight,bias}" and "norm.*".
template <typename T>
class TransformerHead : public OutputHead<T> {
 public:
  // `embedding` [vocabulary, width] is the token embedding. It is also W unless
  // config.tied_embeddings() is SEPARATE.
  TransformerHead(const TransformerConfig& config, Parameter<T> embedding,
                  const SpecialIds& special_ids,
                  const ParameterScope<T>& scope);

  int64_t vocabulary() const override { return linear_->vocabulary(); }
  SpecialIds special_ids() const override { return linear_->special_ids(); }

 protected:
  Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const override;
  // Computes the loss in blocks of rows, so that the logits are never stored in
  // full.
  Var<T> LossOf(Forward<T>& forward, Var<T> readout,
                absl::Span<const int32_t> targets,
                const CrossEntropyOptions& options) const override;

 private:
  Var<T> Transform(Forward<T>& forward, Var<T> readout) const;

  FeedForwardConfig::Activation activation_;
  std::optional<LinearLayer<T>> transform_;
  std::optional<Norm<T>> norm_;
  std::optional<LinearHead<T>> linear_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSFORMER_HEAD_H_
