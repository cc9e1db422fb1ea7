// The layers of a Transformer, followed by a final norm if the config has one.
#ifndef ATTENTION_TRANSFORMER_STACK_H_
#define ATTENTION_TRANSFORMER_STACK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/layer_state.h"
#include "attention/multi_head.h"
#include "attention/positions.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/residual.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class TransformerConfig;

// Parameters: "layers.i.*" for layer i, and "norm.*" for the final norm.
template <typename T>
class TransformerStack {
 public:
  // `config` must have passed ValidateTransformer() with `memory_width`.
  TransformerStack(const AttentionRegistry& scorers,
                   const TransformerConfig& config, int64_t memory_width,
                   const ParameterScope<T>& scope);

  PreparedSource<T> PrepareMemory(Forward<T>& forward, int64_t layer,
                                  Var<T> memory) const;
  // Prepares the memory for each layer and stores it in the state.
  void StoreMemories(Forward<T>& forward, Var<T> memory,
                     LayerState<T>* state) const;
  // The stored memory of each layer, in the tape's arena. Empty if none was
  // stored.
  absl::Span<const PreparedSource<T>> StoredMemories(
      Tape<T>& tape, const LayerState<T>& state) const;

  // The slots that the layers keep between steps.
  const StateSlotNames& slots() const { return slots_; }

  // x [batch, time, width] -> the same shape. Layer i reads memories[i], and
  // inputs.memory must be empty. Without `memories`, there is no
  // cross-attention.
  //
  // With config.recompute(), the activations of each layer are recomputed in
  // the backward pass, unless there is a state.
  Var<T> operator()(Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs,
                    absl::Span<const PreparedSource<T>> memories = {}) const;

  // Applies the final norm, if there is one, to the output of a layer.
  Var<T> ApplyFinalNorm(Forward<T>& forward, Var<T> x) const {
    return norm_.has_value() ? (*norm_)(forward, x) : x;
  }

  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  bool has_cross_attention() const {
    return layers_.front()->has_cross_attention();
  }
  // The maximum lengths of the layers' own sequence and of a memory. kUnlimited
  // if there is no limit.
  int64_t longest_position() const;
  int64_t longest_memory() const;

 private:
  const bool recompute_;
  StateSlotNames slots_;
  std::vector<std::unique_ptr<TransformerLayer<T>>> layers_;
  std::optional<Norm<T>> norm_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_STACK_H_
