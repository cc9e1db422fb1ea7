#include "autodiff/testing/recurrent_reference.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// Returns the columns of gate `index` from rows of several gates.
template <typename T>
Var<T> Gate(Var<T> gates, int64_t width, int index) {
  return Slice(gates, -1, index * width, width);
}

// Returns row b of [batch, width] as [1, width].
template <typename T>
Var<T> Row(Var<T> x, int64_t b) {
  return Slice(x, 0, b, 1);
}

template <typename T>
Var<T> NextGruState(Var<T> x, Var<T> state, Var<T> weight, Var<T> bias,
                    GruForm form) {
  const int64_t w = state.cols();
  if (form == GruForm::kResetAfter) {
    const Var<T> u = Linear(state, weight, bias);
    const Var<T> r = Sigmoid(Gate(x, w, 0) + Gate(u, w, 0));
    const Var<T> z = Sigmoid(Gate(x, w, 1) + Gate(u, w, 1));
    const Var<T> n = Tanh(Gate(x, w, 2) + r * Gate(u, w, 2));
    return z * state + (1 - z) * n;
  }
  const Var<T> none;
  const Var<T> u = Linear(state, Slice(weight, 0, 0, 2 * w), none);
  const Var<T> r = Sigmoid(Gate(x, w, 0) + Gate(u, w, 0));
  const Var<T> z = Sigmoid(Gate(x, w, 1) + Gate(u, w, 1));
  const Var<T> n =
      Tanh(Gate(x, w, 2) + Linear(r * state, Slice(weight, 0, 2 * w, w), none));
  return z * state + (1 - z) * n;
}

// Arranges the outputs of all steps as [1, time, width], followed by zeros.
template <typename T>
Var<T> Arrange(Tape<T>& tape, std::vector<Var<T>> outputs, bool reverse,
               int64_t time, int64_t width) {
  std::vector<Var<T>> rows;
  for (size_t i = 0; i < outputs.size(); ++i) {
    rows.push_back(outputs[reverse ? outputs.size() - 1 - i : i]);
  }
  while (static_cast<int64_t>(rows.size()) < time) {
    rows.push_back(tape.Full({1, width}, T(0)));
  }
  return Concat<T>(rows, 0).Reshape({1, time, width});
}

// Calls step(b, x [1, gates]) for each step of sequence b in order.
template <typename T, typename F>
void ForEachStep(Var<T> projected, absl::Span<const int32_t> lengths,
                 bool reverse, int64_t b, F step) {
  const int64_t time = projected.dim(1);
  const int64_t length = lengths.empty() ? time : lengths[b];
  for (int64_t s = 0; s < length; ++s) {
    const int64_t position = reverse ? length - 1 - s : s;
    const Var<T> one = Slice(Slice(projected, 0, b, 1), 1, position, 1);
    step(one.Reshape({1, projected.cols()}));
  }
}

}  // namespace

template <typename T>
RecurrentSequenceOutputs<T> GruSequenceReference(
    const RecurrentSequenceOperands<T>& in, GruForm form) {
  const int64_t width = in.projected.cols() / 3;
  Tape<T>& tape = in.projected.tape();
  std::vector<Var<T>> sequences;
  std::vector<Var<T>> finals;
  for (int64_t b = 0; b < in.projected.dim(0); ++b) {
    Var<T> state = Row(in.initial[0], b);
    std::vector<Var<T>> outputs;
    ForEachStep(in.projected, in.lengths, in.reverse, b, [&](Var<T> x) {
      state = NextGruState(x, state, in.weight_hh, in.bias_hh, form);
      outputs.push_back(state);
    });
    sequences.push_back(
        Arrange(tape, outputs, in.reverse, in.projected.dim(1), width));
    finals.push_back(state);
  }
  return {Concat<T>(sequences, 0), {Concat<T>(finals, 0)}};
}

template <typename T>
RecurrentSequenceOutputs<T> LstmSequenceReference(
    const RecurrentSequenceOperands<T>& in) {
  const int64_t width = in.projected.cols() / 4;
  Tape<T>& tape = in.projected.tape();
  std::vector<Var<T>> sequences;
  std::vector<Var<T>> states;
  std::vector<Var<T>> cells;
  for (int64_t b = 0; b < in.projected.dim(0); ++b) {
    Var<T> h = Row(in.initial[0], b);
    Var<T> c = Row(in.initial[1], b);
    std::vector<Var<T>> outputs;
    ForEachStep(in.projected, in.lengths, in.reverse, b, [&](Var<T> x) {
      const Var<T> gates = x + Linear(h, in.weight_hh, in.bias_hh);
      const Var<T> i = Sigmoid(Gate(gates, width, 0));
      const Var<T> f = Sigmoid(Gate(gates, width, 1));
      const Var<T> g = Tanh(Gate(gates, width, 2));
      const Var<T> o = Sigmoid(Gate(gates, width, 3));
      c = f * c + i * g;
      h = o * Tanh(c);
      outputs.push_back(h);
    });
    sequences.push_back(
        Arrange(tape, outputs, in.reverse, in.projected.dim(1), width));
    states.push_back(h);
    cells.push_back(c);
  }
  return {Concat<T>(sequences, 0), {Concat<T>(states, 0), Concat<T>(cells, 0)}};
}

#define REGARD_INSTANTIATE(T)                                 \
  template RecurrentSequenceOutputs<T> GruSequenceReference(  \
      const RecurrentSequenceOperands<T>&, GruForm);          \
  template RecurrentSequenceOutputs<T> LstmSequenceReference( \
      const RecurrentSequenceOperands<T>&);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
