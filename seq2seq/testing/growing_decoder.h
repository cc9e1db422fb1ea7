// A Transformer decoder layer with one head and without learned parameters, for
// tests. It has a growing cache of keys and values, and attends to a memory.
// Its hook points are the weights of both attentions,
// "decoder/layers[0]/self/attention/weights" and
// "decoder/layers[0]/cross/attention/weights".
#ifndef SEQ2SEQ_TESTING_GROWING_DECODER_H_
#define SEQ2SEQ_TESTING_GROWING_DECODER_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/linear.h"
#include "autodiff/random.h"
#include "seq2seq/decoder.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
class GrowingDecoder : public Decoder<T>, public OutputHead<T> {
 public:
  static constexpr int64_t kWidth = 6;

  GrowingDecoder(int64_t vocabulary, int64_t longest, uint64_t seed)
      : vocabulary_(vocabulary), longest_(longest) {
    const RandomStream random(seed, "embedding");
    for (int64_t i = 0; i < vocabulary * kWidth; ++i) {
      embedding_.push_back(
          static_cast<T>(0.7 * random.NormalAt(static_cast<uint64_t>(i))));
    }
  }

  enum Slot { kKeys, kValues, kMemory, kNumSlots };

  DecoderState<T> Begin(Forward<T>& forward,
                        const Memory<T>& memory) const override {
    DecoderState<T> state(forward.tape(), memory.sources, memory.lengths,
                          kNumSlots);
    state.SetSourceValue(kMemory, memory.values);
    return state;
  }

  Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                 absl::Span<const int32_t> /*lengths*/,
                 DecoderState<T>* state) const override {
    Tape<T>& tape = forward.tape();
    const NameScope<T> decoder(tape, "decoder");
    const NameScope<T> layer(tape, "layers", 0);
    const auto site = [&](const char* branch, Var<T> weights) {
      const NameScope<T> scope(tape, branch);
      const NameScope<T> attention(tape, "attention");
      return forward.Site("weights", weights);
    };
    const int64_t rows = state->rows();
    const int64_t n = static_cast<int64_t>(ids.size()) / rows;
    const int64_t first = state->position();
    REGARD_CHECK(first + n <= longest_) << "position " << first + n;
    const Var<T> x = Gather(Table(tape), ids, {rows, n});
    const Var<T> keys = state->Append(kKeys, x);
    const Var<T> values = state->Append(kValues, Tanh(x));
    state->AdvancePosition(n);
    // Self-attention is causal: position first + i attends to itself and to
    // earlier positions.
    const Var<T> self =
        Weights(x, keys, [&](int64_t, int64_t i) { return first + i + 1; });
    site("self", self.Reshape({rows, 1, n, self.cols()}));
    Var<T> y = x + MatMul(self, values);
    const Var<T> memory = (*state)[kMemory];
    if (memory.has_value()) {
      const int64_t sources = state->sources();
      const Var<T> queries = y.Reshape({sources, rows / sources * n, kWidth});
      const Var<T> cross = Weights(queries, memory, [&](int64_t s, int64_t) {
        return state->lengths().empty()
                   ? memory.dim(1)
                   : int64_t{state->lengths()[static_cast<size_t>(s)]};
      });
      y = y + MatMul(cross, memory).Reshape({rows, n, kWidth});
      site("cross",
           cross.Reshape({sources, 1, rows / sources * n, cross.cols()}));
    }
    return y;
  }

  const OutputHead<T>& head() const override { return *this; }
  int64_t longest_position() const override { return longest_; }
  int64_t vocabulary() const override { return vocabulary_; }

 protected:
  Var<T> LogitsOf(Forward<T>& forward, Var<T> readout) const override {
    return MatMul(readout, Table(forward.tape()), {.b = true});
  }

 private:
  Var<T> Table(Tape<T>& tape) const {
    return tape.Constant({vocabulary_, kWidth}, embedding_);
  }

  // Returns softmax(Q K^T / sqrt(width)) as a constant [batch, queries, keys].
  // Only the first visible(b, i) keys of a query are not masked.
  template <typename F>
  static Var<T> Weights(Var<T> queries, Var<T> keys, F visible) {
    const Var<T> scores = MatMul(queries, keys, {.b = true});
    const int64_t rows = scores.dim(1);
    const int64_t cols = scores.dim(2);
    for (int64_t b = 0; b < scores.dim(0); ++b) {
      for (int64_t i = 0; i < rows; ++i) {
        T* const row = scores.data() + (b * rows + i) * cols;
        T sum = 0;
        for (int64_t j = 0; j < cols; ++j) {
          const bool seen = j < visible(b, i);
          row[j] = seen ? std::exp(row[j] / std::sqrt(T(kWidth))) : T(0);
          sum += row[j];
        }
        for (int64_t j = 0; j < cols; ++j) row[j] /= sum;
      }
    }
    return scores;
  }

  const int64_t vocabulary_;
  const int64_t longest_;
  std::vector<T> embedding_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_GROWING_DECODER_H_
