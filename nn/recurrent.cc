#include "nn/recurrent.h"

#include <array>
#include <cfloat>
#include <cstdint>

#include "autodiff/ops/dropout.h"
#include "autodiff/ops/gru.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/lstm.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void Validate(const RecurrentConfig& config, ConfigProblems& problems) {
  if (config.cell() == RecurrentConfig::CELL_UNSPECIFIED) {
    problems.Add("cell", "must be GRU or LSTM");
  }
  if (config.reset_gate() == RecurrentConfig::RESET_GATE_UNSPECIFIED) {
    problems.Add("reset_gate", "must be RESET_BEFORE or RESET_AFTER");
  }
  if (config.has_reset_gate() && config.cell() == RecurrentConfig::LSTM) {
    problems.Add("reset_gate", "an LSTM has none");
  }
  if (config.initialization() == INITIALIZATION_UNSPECIFIED) {
    problems.Add("initialization", "must be PYTORCH or XAVIER_UNIFORM");
  }
  problems.RequirePositive("width", config.width());
  problems.RequireInRange("layers", config.layers(), 1, kMaxRecurrentLayers);
  problems.RequireInRange("dropout", config.dropout(), 0, 1 - DBL_EPSILON / 2);
  if (config.dropout() > 0 && config.layers() == 1) {
    problems.Add("dropout", "acts between layers: with one it has no effect");
  }
}

template <typename T>
Recurrent<T>::Recurrent(const ParameterScope<T>& scope,
                        const RecurrentConfig& config, int64_t inputs)
    : config_(config),
      width_(config.width()),
      directions_(config.bidirectional() ? 2 : 1) {
  for (int layer = 0; layer < layers(); ++layer) {
    const ParameterScope<T> of_layer = scope.Sub(layer);
    cells_.push_back(AddCell(of_layer, inputs));
    if (directions_ == 2) {
      cells_.push_back(AddCell(of_layer.Sub("reverse"), inputs));
    }
    inputs = output_width();
  }
}

template <typename T>
typename Recurrent<T>::Cell Recurrent<T>::AddCell(
    const ParameterScope<T>& scope, int64_t inputs) const {
  const int64_t rows = gates() * width_;
  const Initializer plain = RecurrentDefault(width_);
  const bool xavier = config_.initialization() == XAVIER_UNIFORM;
  Cell cell;
  cell.weight_ih = scope.Add("weight_ih", {rows, inputs},
                             xavier ? XavierUniform(rows, inputs) : plain);
  cell.weight_hh = scope.Add("weight_hh", {rows, width_},
                             xavier ? XavierUniform(rows, width_) : plain);
  cell.bias_ih = scope.Add("bias_ih", {rows}, plain);
  if (lstm() || config_.reset_gate() == RecurrentConfig::RESET_AFTER) {
    cell.bias_hh = scope.Add("bias_hh", {rows}, plain);
  }
  return cell;
}

template <typename T>
RecurrentState<T> Recurrent<T>::ZeroState(Forward<T>& forward,
                                          int64_t batch) const {
  // One constant serves all layers: nobody writes to it.
  const Var<T> zero = forward.tape().Full({batch, width_}, T(0));
  RecurrentState<T> state;
  for (int layer = 0; layer < layers(); ++layer) {
    state.hidden[layer] = zero;
    if (lstm()) state.cell[layer] = zero;
  }
  return state;
}

template <typename T>
typename Recurrent<T>::Layer Recurrent<T>::RunLayer(
    Forward<T>& forward, const Cell& cell, Var<T> projected,
    absl::Span<const int32_t> lengths, bool reverse, Var<T> hidden,
    Var<T> cell_state, StepWeight<T>* step_weight) const {
  const Var<T> bias =
      cell.bias_hh.has_value() ? forward[cell.bias_hh] : Var<T>();
  if (lstm()) {
    const LstmOutputs<T> out =
        LstmSequence<T>({projected, forward[cell.weight_hh], bias, hidden,
                         cell_state, lengths, reverse, step_weight});
    return {out.sequence, out.final_state, out.final_cell};
  }
  const GruForm form = config_.reset_gate() == RecurrentConfig::RESET_AFTER
                           ? GruForm::kResetAfter
                           : GruForm::kResetBefore;
  const GruOutputs<T> out =
      GruSequence<T>({projected, forward[cell.weight_hh], bias, hidden, lengths,
                      reverse, form, step_weight});
  return {out.sequence, out.final_state, Var<T>()};
}

template <typename T>
Var<T> Recurrent<T>::BetweenLayers(Forward<T>& forward, Var<T> x,
                                   int layer) const {
  if (config_.dropout() == 0) return x;
  const NameScope<T> scope(forward.tape(), "layer", layer);
  return Dropout(x, static_cast<T>(config_.dropout()), "dropout");
}

template <typename T>
RecurrentOutputs<T> Recurrent<T>::Run(Forward<T>& forward, Var<T> x,
                                      absl::Span<const int32_t> lengths,
                                      const RecurrentState<T>& initial) const {
  RecurrentOutputs<T> out;
  RecurrentState<T>* const finals[] = {&out.final_state,
                                       &out.reverse_final_state};
  const RecurrentState<T> zero =
      directions_ == 2 ? ZeroState(forward, x.dim(0)) : RecurrentState<T>();
  for (int layer = 0; layer < layers(); ++layer) {
    if (layer > 0) x = BetweenLayers(forward, x, layer);
    std::array<Var<T>, 2> sequences;
    for (int direction = 0; direction < directions_; ++direction) {
      const Cell& parameters = cell(layer, direction);
      const RecurrentState<T>& from = direction == 0 ? initial : zero;
      const Layer done = RunLayer(
          forward, parameters,
          Linear(x, forward[parameters.weight_ih], forward[parameters.bias_ih]),
          lengths, direction == 1, from.hidden[layer], from.cell[layer],
          /*step_weight=*/nullptr);
      sequences[direction] = done.sequence;
      finals[direction]->hidden[layer] = done.hidden;
      finals[direction]->cell[layer] = done.cell;
    }
    x = directions_ == 1 ? sequences[0] : Concat<T>(sequences, -1);
  }
  out.sequence = x;
  return out;
}

template <typename T>
RecurrentState<T> Recurrent<T>::Step(Forward<T>& forward, Var<T> x,
                                     const RecurrentState<T>& state) const {
  const Cell& first = cell(0, 0);
  return StepProjected(
      forward, Linear(x, forward[first.weight_ih], forward[first.bias_ih]),
      state);
}

template <typename T>
RecurrentState<T> Recurrent<T>::StepProjected(
    Forward<T>& forward, Var<T> projected, const RecurrentState<T>& state,
    const RecurrentStepWeights<T>& weights) const {
  REGARD_CHECK_EQ(directions_, 1) << "a bidirectional network has no step";
  REGARD_CHECK_EQ(projected.shape().rank(), 2) << projected.shape();
  RecurrentState<T> next;
  for (int layer = 0; layer < layers(); ++layer) {
    const Cell& parameters = cell(layer, 0);
    if (layer > 0) {
      const Var<T> below =
          BetweenLayers(forward, next.hidden[layer - 1], layer);
      const Var<T> bias = forward[parameters.bias_ih];
      projected = weights.input[layer] != nullptr
                      ? StepLinear(below, weights.input[layer], bias)
                      : Linear(below, forward[parameters.weight_ih], bias);
    }
    const Layer done = RunLayer(
        forward, parameters,
        projected.WithShape({projected.dim(0), 1, projected.dim(1)}), {},
        /*reverse=*/false, state.hidden[layer], state.cell[layer],
        weights.hidden[layer]);
    next.hidden[layer] = done.hidden;
    next.cell[layer] = done.cell;
  }
  return next;
}

template <typename T>
RecurrentStepWeights<T> Recurrent<T>::PrepareSteps(Forward<T>& forward) const {
  RecurrentStepWeights<T> weights;
  for (int layer = 0; layer < layers(); ++layer) {
    const Cell& parameters = cell(layer, 0);
    weights.hidden[layer] = StepWeight<T>::New(forward[parameters.weight_hh]);
    if (layer > 0) {
      weights.input[layer] = StepWeight<T>::New(forward[parameters.weight_ih]);
    }
  }
  return weights;
}

template <typename T>
Var<T> Recurrent<T>::InputWeight(Forward<T>& forward, int64_t first,
                                 int64_t count) const {
  return Slice(forward[cell(0, 0).weight_ih], 1, first, count);
}

template <typename T>
Var<T> Recurrent<T>::InputBias(Forward<T>& forward) const {
  return forward[cell(0, 0).bias_ih];
}

template class Recurrent<float>;
template class Recurrent<double>;

}  // namespace regard
