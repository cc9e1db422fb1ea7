#include "nn/layers/recurrent.h"

#include <algorithm>

#include "autodiff/ops/dropout.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns the last states of sequences [batch, time, width]: [batch, width].
// For an empty sequence, returns its row of `last` [batch, width].
template <typename T>
Var<T> LastRows(Var<T> sequences, absl::Span<const int32_t> lengths,
                bool reverse, Var<T> last) {
  const int64_t batch = sequences.dim(0);
  const int64_t time = sequences.dim(1);
  auto* rows = sequences.tape().arena().template New<int32_t>(batch);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths.empty() ? time : lengths[b];
    const int64_t row = b * time + (reverse ? 0 : length - 1);
    rows[b] = static_cast<int32_t>(length == 0 ? batch * time + b : row);
  }
  const Var<T> tables[] = {sequences.Reshape({batch * time, sequences.dim(2)}),
                           last};
  return Gather(Concat<T>(tables, 0), {rows, static_cast<size_t>(batch)},
                {batch});
}

}  // namespace

template <typename T>
typename Recurrent<T>::Kind Recurrent<T>::KindOf(RecurrentCell cell) {
  using Inputs = RecurrentSequenceOperands<T>;
  switch (cell) {
    case RecurrentCell::kLstm:
      return {
          .gates = 4, .states = 2, .bias_hh = true, .run = &LstmSequence<T>};
    case RecurrentCell::kGruResetBefore:
      return {.gates = 3,
              .states = 1,
              .bias_hh = false,
              .run = [](const Inputs& in) {
                return GruSequence(in, GruForm::kResetBefore);
              }};
    case RecurrentCell::kGru:
      break;
  }
  return {
      .gates = 3, .states = 1, .bias_hh = true, .run = [](const Inputs& in) {
        return GruSequence(in, GruForm::kResetAfter);
      }};
}

template <typename T>
Recurrent<T>::Recurrent(const ParameterScope<T>& scope,
                        const RecurrentOptions& options, int64_t inputs)
    : options_(options),
      kind_(KindOf(options.cell)),
      directions_(options.bidirectional ? 2 : 1) {
  REGARD_CHECK(options.layers >= 1 && options.layers <= kMaxRecurrentLayers)
      << options.layers << " layers";
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
  const int64_t rows = gates() * width();
  const Initializer plain = RecurrentDefault(width());
  const auto weight = [&](int64_t columns) {
    return options_.initialization == nullptr
               ? plain
               : options_.initialization(rows, columns);
  };
  Cell cell;
  cell.weight_ih = scope.Add("weight_ih", {rows, inputs}, weight(inputs));
  cell.weight_hh = scope.Add("weight_hh", {rows, width()}, weight(width()));
  cell.bias_ih = scope.Add("bias_ih", {rows}, plain);
  if (kind_.bias_hh) {
    cell.bias_hh = scope.Add("bias_hh", {rows}, plain);
  }
  return cell;
}

template <typename T>
RecurrentState<T> Recurrent<T>::ZeroState(Forward<T>& forward,
                                          int64_t batch) const {
  const Var<T> zero = forward.tape().Full({batch, width()}, T(0));
  RecurrentState<T> state;
  for (int layer = 0; layer < layers(); ++layer) {
    std::fill_n(state[layer].begin(), states(), zero);
  }
  return state;
}

template <typename T>
RecurrentSequenceOutputs<T> Recurrent<T>::RunCell(
    Forward<T>& forward, const Cell& cell, Var<T> projected,
    absl::Span<const int32_t> lengths, bool reverse,
    const CellState<T>& initial) const {
  return kind_.run({projected, forward[cell.weight_hh],
                    cell.bias_hh.has_value() ? forward[cell.bias_hh] : Var<T>(),
                    initial, lengths, reverse});
}

template <typename T>
Var<T> Recurrent<T>::DropoutBetweenLayers(Forward<T>& forward, Var<T> x,
                                          int layer) const {
  if (options_.dropout == 0) return x;
  const NameScope<T> scope(forward.tape(), "layer", layer);
  return Dropout(x, static_cast<T>(options_.dropout), "dropout");
}

template <typename T>
template <typename F>
Var<T> Recurrent<T>::StateSite(Forward<T>& forward, Var<T> state, int layer,
                               F changed) {
  if (forward.hook() == nullptr) return state;
  const NameScope<T> scope(forward.tape(), "layer", layer);
  const bool changes = forward.Request("state").changes_path();
  state = forward.Site("state", state);
  if (changes) changed(state);
  return state;
}

template <typename T>
RecurrentOutputs<T> Recurrent<T>::RunLayers(
    Forward<T>& forward, Var<T> x, Var<T> projected,
    absl::Span<const int32_t> lengths, const RecurrentState<T>& initial) const {
  RecurrentOutputs<T> out;
  RecurrentState<T>* const finals[] = {&out.final_state,
                                       &out.reverse_final_state};
  const RecurrentState<T> zero =
      directions_ == 2 ? ZeroState(forward, x.dim(0)) : RecurrentState<T>();
  for (int layer = 0; layer < layers(); ++layer) {
    if (layer > 0) x = DropoutBetweenLayers(forward, x, layer);
    std::array<Var<T>, 2> sequences;
    for (int direction = 0; direction < directions_; ++direction) {
      const Cell& parameters = cell(layer, direction);
      const RecurrentState<T>& from = direction == 0 ? initial : zero;
      const bool given = layer == 0 && projected.has_value();
      const RecurrentSequenceOutputs<T> done =
          RunCell(forward, parameters,
                  given ? projected
                        : Linear(x, forward[parameters.weight_ih],
                                 forward[parameters.bias_ih]),
                  lengths, direction == 1, from[layer]);
      sequences[direction] = done.sequence;
      (*finals[direction])[layer] = done.final_state;
    }
    x = directions_ == 1 ? sequences[0] : Concat<T>(sequences, -1);
    x = StateSite(forward, x, layer, [&](Var<T> states) {
      for (int direction = 0; direction < directions_; ++direction) {
        Var<T>& last = (*finals[direction])[layer][0];
        last = LastRows(directions_ == 1 ? states
                                         : Slice(states, /*axis=*/2,
                                                 direction * width(), width()),
                        lengths, direction == 1, last);
      }
    });
  }
  out.sequence = x;
  return out;
}

template <typename T>
RecurrentOutputs<T> Recurrent<T>::Run(Forward<T>& forward, Var<T> x,
                                      absl::Span<const int32_t> lengths,
                                      const RecurrentState<T>& initial) const {
  return RunLayers(forward, x, /*projected=*/{}, lengths, initial);
}

template <typename T>
RecurrentOutputs<T> Recurrent<T>::RunProjected(
    Forward<T>& forward, Var<T> projected, absl::Span<const int32_t> lengths,
    const RecurrentState<T>& initial) const {
  REGARD_CHECK_EQ(directions_, 1) << "each direction has a projected input";
  return RunLayers(forward, /*x=*/{}, projected, lengths, initial);
}

template <typename T>
Var<T> Recurrent<T>::ProjectInput(Forward<T>& forward, Var<T> x,
                                  int64_t first_column, Var<T> addend) const {
  return Linear(
      x,
      WeightColumns<T>(forward[cell(0, 0).weight_ih], first_column, x.cols()),
      addend);
}

template <typename T>
RecurrentState<T> Recurrent<T>::Step(Forward<T>& forward, Var<T> projected,
                                     const RecurrentState<T>& state) const {
  REGARD_CHECK_EQ(directions_, 1) << "a bidirectional network has no step";
  REGARD_CHECK_EQ(projected.shape().rank(), 2) << projected.shape();
  RecurrentState<T> next;
  for (int layer = 0; layer < layers(); ++layer) {
    const Cell& parameters = cell(layer, 0);
    if (layer > 0) {
      projected =
          Linear(DropoutBetweenLayers(forward, next[layer - 1][0], layer),
                 forward[parameters.weight_ih], forward[parameters.bias_ih]);
    }
    next[layer] =
        RunCell(forward, parameters,
                projected.Reshape({projected.dim(0), 1, projected.dim(1)}),
                /*lengths=*/{}, /*reverse=*/false, state[layer])
            .final_state;
    next[layer][0] = StateSite(forward, next[layer][0], layer, [](Var<T>) {});
  }
  return next;
}

REGARD_INSTANTIATE_CLASS(Recurrent);

}  // namespace regard
