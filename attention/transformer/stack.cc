#include "attention/transformer/stack.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "attention/scoring_function.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/recompute.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Runs a layer whose intermediate activations are recomputed in the backward
// pass.
template <typename T>
Var<T> RecomputeLayer(Forward<T>& forward, const TransformerLayer<T>& layer,
                      Var<T> x, const LayerInputs<T>& inputs) {
  Forward<T>* const of = &forward;
  const TransformerLayer<T>* const block = &layer;
  const auto compute = [=](absl::Span<const Var<T>> in) {
    LayerInputs<T> now = inputs;
    if (in.size() > 1) now.memory = {in[1], in[2]};
    return (*block)(*of, in[0], now);
  };
  const Var<T> all[] = {x, inputs.memory.keys, inputs.memory.values};
  const bool attends = inputs.memory.keys.has_value();
  return Recompute(forward.tape(), absl::MakeConstSpan(all, attends ? 3 : 1),
                   compute);
}

}  // namespace

template <typename T>
TransformerStack<T>::TransformerStack(const AttentionRegistry& scorers,
                                      const TransformerConfig& config,
                                      int64_t memory_width,
                                      const ParameterScope<T>& scope)
    : recompute_(config.recompute()) {
  for (int64_t i = 0; i < config.layers(); ++i) {
    layers_.push_back(std::make_unique<TransformerLayer<T>>(
        scorers, config, i, memory_width, scope.Sub("layers", i),
        SlotScope(slots_, absl::StrCat("layers[", i, "]"))));
  }
  const bool pre = config.norm_order() == TransformerConfig::PRE;
  if (config.has_final_norm() ? config.final_norm() : pre) {
    norm_.emplace(config.norm(), config.width(), scope.Sub("norm"));
  }
}

template <typename T>
PreparedSource<T> TransformerStack<T>::PrepareMemory(Forward<T>& forward,
                                                     int64_t layer,
                                                     Var<T> memory) const {
  const NameScope<T> scope(forward.tape(), "layers", layer);
  return layers_[static_cast<size_t>(layer)]->PrepareMemory(forward, memory);
}

template <typename T>
void TransformerStack<T>::StoreMemories(Forward<T>& forward, Var<T> memory,
                                        LayerState<T>* state) const {
  for (int64_t i = 0; i < layers(); ++i) {
    layers_[static_cast<size_t>(i)]->StoreMemory(
        PrepareMemory(forward, i, memory), state);
  }
}

template <typename T>
absl::Span<const PreparedSource<T>> TransformerStack<T>::StoredMemories(
    Tape<T>& tape, const LayerState<T>& state) const {
  if (!layers_.front()->StoredMemory(state).keys.has_value()) return {};
  auto* const memories = tape.arena().template New<PreparedSource<T>>(layers());
  for (size_t i = 0; i < layers_.size(); ++i) {
    memories[i] = layers_[i]->StoredMemory(state);
  }
  return {memories, layers_.size()};
}

template <typename T>
Var<T> TransformerStack<T>::operator()(
    Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs,
    absl::Span<const PreparedSource<T>> memories) const {
  REGARD_CHECK(memories.empty() || memories.size() == layers_.size())
      << memories.size() << " memories of " << layers_.size() << " layers";
  const bool recompute =
      recompute_ && x.needs_grad() && inputs.state == nullptr;
  LayerInputs<T> of_layer = inputs;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const NameScope<T> scope(forward.tape(), "layers", static_cast<int64_t>(i));
    if (!memories.empty()) of_layer.memory = memories[i];
    x = recompute ? RecomputeLayer(forward, *layers_[i], x, of_layer)
                  : (*layers_[i])(forward, x, of_layer);
  }
  return ApplyFinalNorm(forward, x);
}

template <typename T>
int64_t TransformerStack<T>::longest_memory() const {
  int64_t longest = kUnlimited;
  for (const auto& layer : layers_) {
    longest = std::min(longest, PositionsWithin(layer->MaxCrossDistance()));
  }
  return longest;
}

// Position t attends to the memory's first position at distance t, so the limit
// of cross-attention applies to both sequences.
template <typename T>
int64_t TransformerStack<T>::longest_position() const {
  int64_t longest = longest_memory();
  for (const auto& layer : layers_) {
    longest = std::min(longest, PositionsWithin(layer->MaxDistance()));
  }
  return longest;
}

REGARD_INSTANTIATE_CLASS(TransformerStack);

}  // namespace regard
