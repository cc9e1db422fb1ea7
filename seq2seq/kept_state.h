// A decoder's state in storage of its own, so that the tape can be rewound
// after each word of a search.
#ifndef SEQ2SEQ_KEPT_STATE_H_
#define SEQ2SEQ_KEPT_STATE_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "nn/recurrent.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {

// No gradient passes through it.
template <typename T>
class KeptState {
 public:
  // For at most `rows` rows of states with the parts and widths of `like`, in
  // storage of `arena`.
  KeptState(const DecoderState<T>& like, int64_t rows, Arena& arena);

  // Row i becomes row rows[i] of `state`, which is not a View() of this.
  void Gather(const DecoderState<T>& state, absl::Span<const int32_t> rows);

  // What was gathered, as constants of `tape`, where each of `sources` sources
  // has as many rows. Valid until the next Gather().
  DecoderState<T> View(Tape<T>& tape, int64_t sources) const;

 private:
  // The parts of a state that exist, each [rows, width].
  struct Part {
    T* values = nullptr;
    int64_t width = 0;
  };

  std::array<Part, kMaxRecurrentStates * kMaxRecurrentLayers + 3> parts_;
  int64_t capacity_;
  int64_t step_ = 0;
  int64_t rows_ = 0;
};

extern template class KeptState<float>;
extern template class KeptState<double>;

}  // namespace regard

#endif  // SEQ2SEQ_KEPT_STATE_H_
