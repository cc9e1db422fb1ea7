#include "seq2seq/kept_state.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Calls f(Var, index of the part, whether it holds weights of attention) for
// all parts of a state.
template <typename State, typename F>
void ForEachPart(State& state, F f) {
  size_t part = 0;
  for (auto& layer : state.recurrent) {
    for (auto& of_layer : layer) f(of_layer, part++, false);
  }
  f(state.feed, part++, false);
  f(state.previous_weights, part++, true);
  f(state.cumulative_weights, part++, true);
}

}  // namespace

template <typename T>
KeptState<T>::KeptState(const DecoderState<T>& like, int64_t rows, Arena& arena)
    : capacity_(rows) {
  ForEachPart(like, [&](const Var<T>& part, size_t i, bool) {
    if (!part.has_value()) return;
    parts_[i] = {arena.New<T>(rows * part.cols()), part.cols()};
  });
}

template <typename T>
void KeptState<T>::Gather(const DecoderState<T>& state,
                          absl::Span<const int32_t> rows) {
  rows_ = static_cast<int64_t>(rows.size());
  step_ = state.step;
  REGARD_CHECK(rows_ <= capacity_) << rows_ << " rows, " << capacity_;
  ForEachPart(state, [&](const Var<T>& from, size_t i, bool) {
    const Part& part = parts_[i];
    REGARD_CHECK_EQ(from.has_value(), part.values != nullptr);
    if (part.values == nullptr) return;
    REGARD_CHECK_EQ(from.cols(), part.width);
    T* to = part.values;
    for (const int32_t row : rows) {
      to = std::copy_n(from.data() + row * part.width, part.width, to);
    }
  });
}

template <typename T>
DecoderState<T> KeptState<T>::View(Tape<T>& tape, int64_t sources) const {
  DecoderState<T> state;
  state.step = step_;
  ForEachPart(state, [&](Var<T>& view, size_t i, bool weights) {
    const Part& part = parts_[i];
    if (part.values == nullptr) return;
    const Shape shape = weights
                            ? Shape({sources, 1, rows_ / sources, part.width})
                            : Shape({rows_, part.width});
    view = tape.Leaf(part.values, /*grad=*/nullptr, shape);
  });
  return state;
}

template class KeptState<float>;
template class KeptState<double>;

}  // namespace regard
