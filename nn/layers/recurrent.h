// Stacks of GRU or LSTM layers. Encoders run a stack over whole sequences, and
// decoders run it one step at a time. autodiff/recurrent/recurrent.h has the
// formulas.
//
// Layer k has the parameters "<k>.weight_ih" [gates * width, inputs],
// "<k>.weight_hh" [gates * width, width], "<k>.bias_ih" and, depending on the
// cell, "<k>.bias_hh". In the reverse direction, names begin with
// "<k>.reverse". As in PyTorch, gates are stacked in the order r, z, n (GRU) or
// i, f, g, o (LSTM).
//
// Layer k has the hook point "layer[k]/state". Its value contains the outputs
// of the layer, [batch, time, directions * width] for a sequence or [batch,
// width] for a step. If a hook replaces the outputs of a sequence, the final
// state takes h from the replacement, but keeps the c of an LSTM.
#ifndef NN_LAYERS_RECURRENT_H_
#define NN_LAYERS_RECURRENT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {

inline constexpr int kMaxRecurrentLayers = 8;

// The states of all layers in one direction. The state of a layer is its output
// h and, for an LSTM, the cell state c, each [batch, width].
template <typename T>
using RecurrentState = std::array<CellState<T>, kMaxRecurrentLayers>;

template <typename T>
struct RecurrentOutputs {
  // Outputs of the last layer, [batch, time, directions * width]. Positions
  // past the length of a sequence are 0. The second half of the last axis
  // belongs to the reverse direction.
  Var<T> sequence;
  RecurrentState<T> final_state;
  RecurrentState<T> reverse_final_state;  // empty unless bidirectional
};

enum class RecurrentCell {
  kGru,             // as in PyTorch and cuDNN: reset after product
  kGruResetBefore,  // as published: reset before product, one bias per gate
  kLstm,            // LSTM with a forget gate
};

struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::kGru;
  int64_t width = 256;         // state width of each layer and direction
  int layers = 1;              // maximum: kMaxRecurrentLayers
  bool bidirectional = false;  // if true, Step() is not available
  double dropout = 0;          // probability; applied between layers
  // Initializer of the weights. The stacked gates of a cell count as one
  // matrix. Null means RecurrentDefault(). Biases are always initialized with
  // RecurrentDefault().
  WeightInitializer initialization = nullptr;
};

template <typename T>
class Recurrent {
 public:
  // Registers the parameters in `scope`. `inputs` is the width of x.
  Recurrent(const ParameterScope<T>& scope, const RecurrentOptions& options,
            int64_t inputs);

  int64_t width() const { return options_.width; }
  int64_t output_width() const { return width() * directions_; }
  int layers() const { return options_.layers; }
  // A GRU has 3 gates and 1 state. An LSTM has 4 gates and 2 states.
  int64_t gates() const { return kind_.gates; }
  int states() const { return kind_.states; }

  RecurrentState<T> ZeroState(Forward<T>& forward, int64_t batch) const;

  // Runs the layers over x [batch, time, inputs]. `lengths` is [batch], or
  // empty if all lengths are `time`. The state of a sequence does not change
  // past its length. `initial` is the initial state of the forward direction.
  // The initial state of the reverse direction is 0.
  RecurrentOutputs<T> Run(Forward<T>& forward, Var<T> x,
                          absl::Span<const int32_t> lengths,
                          const RecurrentState<T>& initial) const;
  RecurrentOutputs<T> Run(Forward<T>& forward, Var<T> x,
                          absl::Span<const int32_t> lengths) const {
    return Run(forward, x, lengths, ZeroState(forward, x.dim(0)));
  }

  // Multiplies x [.., n] by the columns first_column .. first_column + n - 1 of
  // weight_ih of the first layer, and adds `addend` as Linear() does. The
  // result is [.., gates * width].
  //
  // Decoders project each part of their input as soon as it is available. If
  // the input of the first layer is [y; c], then
  //
  //   W [y; c] + b = (W_y y + b) + W_c c,
  //
  // which is ProjectInput(c, first column of W_c, ProjectInput(y, 0,
  // InputBias())).
  Var<T> ProjectInput(Forward<T>& forward, Var<T> x, int64_t first_column,
                      Var<T> addend) const;
  Var<T> InputBias(Forward<T>& forward) const {
    return forward[cell(0, 0).bias_ih];
  }
  // Like Run(), for a network of one direction. `projected` is the projected
  // input of the first layer, including the bias: [batch, time, gates * width].
  RecurrentOutputs<T> RunProjected(Forward<T>& forward, Var<T> projected,
                                   absl::Span<const int32_t> lengths,
                                   const RecurrentState<T>& initial) const;
  // Computes one step of a network of one direction. `projected` [batch,
  // gates * width] is the projected input of the first layer, including the
  // bias.
  RecurrentState<T> Step(Forward<T>& forward, Var<T> projected,
                         const RecurrentState<T>& state) const;

  Var<T> Output(const RecurrentState<T>& state) const {
    return state[layers() - 1][0];
  }

 private:
  struct Kind {
    int gates;
    int states;
    bool bias_hh;
    RecurrentSequenceOutputs<T> (*run)(const RecurrentSequenceOperands<T>&);
  };
  // The parameters of one layer and direction.
  struct Cell {
    Parameter<T> weight_ih, weight_hh, bias_ih, bias_hh;
  };

  static Kind KindOf(RecurrentCell cell);
  Cell AddCell(const ParameterScope<T>& scope, int64_t inputs) const;
  const Cell& cell(int layer, int direction) const {
    return cells_[layer * directions_ + direction];
  }
  // Implements Run() and, if `projected` is not empty, RunProjected().
  RecurrentOutputs<T> RunLayers(Forward<T>& forward, Var<T> x, Var<T> projected,
                                absl::Span<const int32_t> lengths,
                                const RecurrentState<T>& initial) const;
  RecurrentSequenceOutputs<T> RunCell(Forward<T>& forward, const Cell& cell,
                                      Var<T> projected,
                                      absl::Span<const int32_t> lengths,
                                      bool reverse,
                                      const CellState<T>& initial) const;
  Var<T> DropoutBetweenLayers(Forward<T>& forward, Var<T> x, int layer) const;
  // Passes a state through its hook point. If a hook may replace the state,
  // calls changed(states) to recompute the values that depend on the state.
  template <typename F>
  static Var<T> StateSite(Forward<T>& forward, Var<T> state, int layer,
                          F changed);

  RecurrentOptions options_;
  Kind kind_;
  int directions_;
  std::vector<Cell> cells_;  // [layers, directions]
};

}  // namespace regard

#endif  // NN_LAYERS_RECURRENT_H_
