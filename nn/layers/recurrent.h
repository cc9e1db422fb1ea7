// Stacks of GRU or LSTM layers: over whole sequences for encoders, one step at
// a time for decoders. Formulas: autodiff/recurrent/recurrent.h.
//
// Parameters of layer k are "<k>.weight_ih" [gates width, inputs],
// "<k>.bias_ih" and, of the reverse direction, "<k>.reverse.weight_ih". Gates
// are stacked r, z, n and i, f, g, o, as PyTorch's.
//
// Layer k has the hook point "layer[k]/state": its outputs, [batch, time,
// directions width] for a sequence or [batch, width] for a step. If a hook
// replaces a sequence, the final state takes h from it, but not an LSTM's c.
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

// The states of all layers of one direction. Those of a layer are h, which is
// its output, and the cell state c of an LSTM, each [batch, width].
template <typename T>
using RecurrentState = std::array<CellState<T>, kMaxRecurrentLayers>;

template <typename T>
struct RecurrentOutputs {
  // What the last layer gives, [batch, time, directions width]; 0 from the
  // length on. The reverse direction is the second half.
  Var<T> sequence;
  RecurrentState<T> final_state;
  RecurrentState<T> reverse_final_state;  // empty unless bidirectional
};

enum class RecurrentCell {
  kGru,             // the reset gate after the product, as PyTorch and cuDNN
  kGruResetBefore,  // as published: before the product, one bias for each gate
  kLstm,            // with a forget gate
};

struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::kGru;
  int64_t width = 256;         // state width of each layer and direction
  int layers = 1;              // at most kMaxRecurrentLayers
  bool bidirectional = false;  // then there is Run(), but no Step()
  double dropout = 0;          // probability, between layers only
  // Initial values of weights, with the gates of a cell as one matrix. Null:
  // RecurrentDefault(), from which biases always start.
  WeightInitializer initialization = nullptr;
};

template <typename T>
class Recurrent {
 public:
  // Registers the parameters. `inputs` is the width of x.
  Recurrent(const ParameterScope<T>& scope, const RecurrentOptions& options,
            int64_t inputs);

  int64_t width() const { return options_.width; }
  int64_t output_width() const { return width() * directions_; }
  int layers() const { return options_.layers; }
  // A GRU cell has 3 gates and 1 state, an LSTM cell 4 and 2.
  int64_t gates() const { return kind_.gates; }
  int states() const { return kind_.states; }

  RecurrentState<T> ZeroState(Forward<T>& forward, int64_t batch) const;

  // x [batch, time, inputs]; lengths [batch], or empty where all are `time`. A
  // sequence's state stays as it is past its length. `initial` holds the states
  // of the forward direction; the reverse one starts from 0.
  RecurrentOutputs<T> Run(Forward<T>& forward, Var<T> x,
                          absl::Span<const int32_t> lengths,
                          const RecurrentState<T>& initial) const;
  RecurrentOutputs<T> Run(Forward<T>& forward, Var<T> x,
                          absl::Span<const int32_t> lengths) const {
    return Run(forward, x, lengths, ZeroState(forward, x.dim(0)));
  }

  // For decoders, which project each part of their input as soon as it is
  // known. With the parts [y; c] of the first layer's input,
  //
  //   W [y; c] + b = (W_y y + b) + W_c c,
  //
  // which is ProjectInput(c, first column of W_c,
  //                       ProjectInput(y, 0, InputBias())).
  // x [.., n] times the columns first_column .. first_column + n - 1 of
  // weight_ih, plus `addend` as Linear() has it -> [.., gates width].
  Var<T> ProjectInput(Forward<T>& forward, Var<T> x, int64_t first_column,
                      Var<T> addend) const;
  Var<T> InputBias(Forward<T>& forward) const {
    return forward[cell(0, 0).bias_ih];
  }
  // Run() of one direction. projected [batch, time, gates width], bias
  // included.
  RecurrentOutputs<T> RunProjected(Forward<T>& forward, Var<T> projected,
                                   absl::Span<const int32_t> lengths,
                                   const RecurrentState<T>& initial) const;
  // One step of one direction. projected [batch, gates width], bias included.
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
    SequenceOutputs<T> (*run)(const SequenceInputs<T>&);
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
  // Run() or, if `projected` is not empty, RunProjected().
  RecurrentOutputs<T> RunLayers(Forward<T>& forward, Var<T> x, Var<T> projected,
                                absl::Span<const int32_t> lengths,
                                const RecurrentState<T>& initial) const;
  SequenceOutputs<T> RunCell(Forward<T>& forward, const Cell& cell,
                             Var<T> projected,
                             absl::Span<const int32_t> lengths, bool reverse,
                             const CellState<T>& initial) const;
  Var<T> BetweenLayers(Forward<T>& forward, Var<T> x, int layer) const;
  // Calls changed(states) if a probe needs all that is made of them to come
  // from what it leaves.
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
