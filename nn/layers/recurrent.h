// Stacks of GRU or LSTM layers: over whole sequences for encoders, one step at
// a time for decoders. Formulas: autodiff/recurrent/recurrent.h.
//
// Parameters of layer k are "<k>.weight_ih" [gates width, inputs],
// "<k>.bias_ih" and, of the reverse direction, "<k>.reverse.weight_ih". Gates
// are stacked r, z, n and i, f, g, o, as PyTorch's.
//
// Layer k has the site "layer[k]/state" of a probe: its outputs, of a sequence
// [batch, time, directions width] or of a step [batch, width]. Of what replaces
// those of a sequence, the final state has h, not the c of an LSTM.
#ifndef NN_LAYERS_RECURRENT_H_
#define NN_LAYERS_RECURRENT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/recurrent.pb.h"
#include "options/config_problems.h"

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

// Adds what is wrong with the fields of RecurrentConfig that `config`, which
// may be another message, has under the same names.
template <typename Config>
void ValidateRecurrent(const Config& config, ConfigProblems& problems) {
  problems.RequireInRange("layers", config.layers(), 1, kMaxRecurrentLayers);
  problems.CheckRanges(config);
  if (config.cell() == RecurrentConfig::LSTM &&
      config.reset_gate() != Config().reset_gate()) {
    problems.Note("reset_gate", "has no effect: an LSTM has no reset gate");
  }
  if (config.initialization() != PYTORCH &&
      config.initialization() != XAVIER_UNIFORM) {
    problems.Add("initialization", "must be PYTORCH or XAVIER_UNIFORM");
  }
}

template <typename T>
class Recurrent {
 public:
  // Registers the parameters. `config` is valid; `inputs` is the width of x.
  Recurrent(const ParameterScope<T>& scope, const RecurrentConfig& config,
            int64_t inputs);

  int64_t width() const { return width_; }
  int64_t output_width() const { return width_ * directions_; }
  int layers() const { return config_.layers(); }
  // Of a cell: 3 gates and 1 state for a GRU, 4 and 2 for an LSTM.
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

  static Kind KindOf(const RecurrentConfig& config);
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

  RecurrentConfig config_;
  Kind kind_;
  int64_t width_;
  int directions_;
  std::vector<Cell> cells_;  // [layers, directions]
};

}  // namespace regard

#endif  // NN_LAYERS_RECURRENT_H_
