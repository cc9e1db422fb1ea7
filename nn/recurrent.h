// Stacks of GRU or LSTM layers: over whole sequences for encoders, one step at
// a time for decoders. Formulas: autodiff/kernels/{gru,lstm}_cell.h.
//
// Parameters of layer k are "<k>.weight_ih" [gates width, inputs],
// "<k>.bias_ih" and, of the reverse direction, "<k>.reverse.weight_ih". Gates
// are stacked r, z, n and i, f, g, o, as PyTorch's.
#ifndef NN_RECURRENT_H_
#define NN_RECURRENT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/step_weight.h"
#include "autodiff/tape.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/recurrent.pb.h"

namespace regard {

inline constexpr int kMaxRecurrentLayers = 8;

// The states of all layers of one direction, each [batch, width].
template <typename T>
struct RecurrentState {
  std::array<Var<T>, kMaxRecurrentLayers> hidden;
  std::array<Var<T>, kMaxRecurrentLayers> cell;  // empty for a GRU
};

// The weights of all layers of one direction, prepared for many steps; null for
// a single one. The first layer's inputs are projected by the caller.
template <typename T>
struct RecurrentStepWeights {
  std::array<StepWeight<T>*, kMaxRecurrentLayers> hidden = {};
  std::array<StepWeight<T>*, kMaxRecurrentLayers> input = {};
};

template <typename T>
struct RecurrentOutputs {
  // Of the last layer [batch, time, directions width]; 0 from the length on.
  // The reverse direction is the second half.
  Var<T> sequence;
  RecurrentState<T> final_state;
  RecurrentState<T> reverse_final_state;  // empty unless bidirectional
};

void Validate(const RecurrentConfig& config, ConfigProblems& problems);

template <typename T>
class Recurrent {
 public:
  // Registers the parameters. `config` is valid; `inputs` is the width of x.
  Recurrent(const ParameterScope<T>& scope, const RecurrentConfig& config,
            int64_t inputs);

  int64_t width() const { return width_; }
  int64_t output_width() const { return width_ * directions_; }
  int layers() const { return config_.layers(); }
  // Gates of a cell: 3 for a GRU, 4 for an LSTM.
  int64_t gates() const { return lstm() ? 4 : 3; }
  bool lstm() const { return config_.cell() == RecurrentConfig::LSTM; }

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

  // One step of one direction: x [batch, inputs]. The output is the last
  // layer's hidden state, Output().
  RecurrentState<T> Step(Forward<T>& forward, Var<T> x,
                         const RecurrentState<T>& state) const;

  // The same where the first layer's inputs are projected already:
  // [batch, gates width], bias_ih included. So a decoder whose input is [y; c]
  // projects all y at once,
  //   x W^T + b = (y W_y^T + b) + c W_c^T,
  // with the columns W_y and W_c of InputWeight() and the bias InputBias(). Who
  // takes many steps in a forward pass prepares their weights once.
  RecurrentState<T> StepProjected(
      Forward<T>& forward, Var<T> projected, const RecurrentState<T>& state,
      const RecurrentStepWeights<T>& weights = {}) const;
  RecurrentStepWeights<T> PrepareSteps(Forward<T>& forward) const;

  // Columns first .. first + count - 1 of the first layer's weight_ih, copied:
  // ask once a forward pass, not once a step.
  Var<T> InputWeight(Forward<T>& forward, int64_t first, int64_t count) const;
  Var<T> InputBias(Forward<T>& forward) const;

  Var<T> Output(const RecurrentState<T>& state) const {
    return state.hidden[layers() - 1];
  }

 private:
  // The parameters of one layer and direction.
  struct Cell {
    Parameter<T> weight_ih, weight_hh, bias_ih, bias_hh;
  };
  // One layer's states, or a sequence of them.
  struct Layer {
    Var<T> sequence, hidden, cell;
  };

  Cell AddCell(const ParameterScope<T>& scope, int64_t inputs) const;
  const Cell& cell(int layer, int direction) const {
    return cells_[layer * directions_ + direction];
  }
  Layer RunLayer(Forward<T>& forward, const Cell& cell, Var<T> projected,
                 absl::Span<const int32_t> lengths, bool reverse, Var<T> hidden,
                 Var<T> cell_state, StepWeight<T>* step_weight) const;
  Var<T> BetweenLayers(Forward<T>& forward, Var<T> x, int layer) const;

  RecurrentConfig config_;
  int64_t width_;
  int directions_;
  std::vector<Cell> cells_;  // [layers, directions]
};

extern template class Recurrent<float>;
extern template class Recurrent<double>;

}  // namespace regard

#endif  // NN_RECURRENT_H_
