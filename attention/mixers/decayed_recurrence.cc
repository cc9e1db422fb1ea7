#include "attention/mixers/decayed_recurrence.h"

#include <algorithm>
#include <cstdint>

#include "attention/mixers/decayed_products.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int64_t kChunk = 64;

struct Extents {
  int64_t heads;  // examples * heads
  int64_t time;
  int64_t key_width;
  int64_t value_width;
  int64_t decay_width;

  int64_t chunks() const { return (time + kChunk - 1) / kChunk; }
  int64_t state() const { return key_width * value_width; }
};

template <typename T>
Extents ExtentsOf(const DecayedInputs<T>& in) {
  const Shape q = in.queries.shape();
  const Shape v = in.values.shape();
  const bool decays = in.log_decay.has_value();
  REGARD_CHECK(q.rank() == 4 && in.keys.shape() == q && v.rank() == 4 &&
               v.With(3, q[3]) == q)
      << "queries " << q << ", keys " << in.keys.shape() << ", values " << v;
  REGARD_CHECK(!decays || in.log_decay.shape() == q ||
               in.log_decay.shape() == q.With(3, 1))
      << "log decay " << in.log_decay.shape() << " of keys " << q;
  REGARD_CHECK(!in.state.has_value() ||
               in.state.shape() == Shape({q[0], q[1], q[3], v[3]}))
      << "state " << in.state.shape() << " of keys " << q << " and values "
      << v;
  return {q[0] * q[1], q[2], q[3], v[3], decays ? in.log_decay.dim(3) : 0};
}

// One chunk of positions of one head.
template <typename T>
struct Chunk {
  DecayedProductOperands<T> rows;
  const T* values;

  int64_t width() const { return rows.width; }
  int64_t count() const { return rows.count; }
};

template <typename T>
Chunk<T> ChunkAt(const DecayedInputs<T>& in, const Extents& extents,
                 int64_t head, int64_t chunk) {
  const int64_t first = head * extents.time + chunk * kChunk;
  return {{std::min(kChunk, extents.time - chunk * kChunk), extents.key_width,
           extents.decay_width, in.queries.data() + first * extents.key_width,
           in.keys.data() + first * extents.key_width,
           extents.decay_width == 0
               ? nullptr
               : in.log_decay.data() + first * extents.decay_width},
          in.values.data() + first * extents.value_width};
}

// Scratch storage for the values and gradients of one chunk, and for its
// decays.
template <typename T>
class Workspace {
 public:
  Workspace(Tape<T>& tape, const Extents& extents, bool backward)
      : scope_(tape),
        extents_(extents),
        from_start_(scope_.New(kChunk * extents.decay_width)),
        to_end_(scope_.New(kChunk * extents.decay_width)),
        sum_(scope_.New(extents.decay_width)),
        rows_(scope_.New(DecayedScratch(DecayedProductOperands<T>{
            kChunk, extents.key_width, extents.decay_width, nullptr, nullptr,
            nullptr}))) {
    products = scope_.New(kChunk * kChunk);
    queries = scope_.New(kChunk * extents.key_width);
    keys = scope_.New(kChunk * extents.key_width);
    if (!backward) return;
    d_products = scope_.New(kChunk * kChunk);
    d_queries = scope_.New(kChunk * extents.key_width);
    d_keys = scope_.New(kChunk * extents.key_width);
    d_values = scope_.New(kChunk * extents.value_width);
    d_decay = scope_.New(kChunk * extents.decay_width);
    d_state = scope_.New(extents.state());
  }

  T* products;  // [count, count]
  T* queries;   // queries times the decay since the start of the chunk
  T* keys;      // keys times the decay until the end of the chunk
  T* d_products = nullptr;
  T* d_queries = nullptr;
  T* d_keys = nullptr;
  T* d_values = nullptr;
  T* d_decay = nullptr;
  T* d_state = nullptr;  // gradient of the state after the chunk

  T* rows_scratch() const { return rows_; }

  // Computes `queries`, `keys` and the decays of a chunk.
  void Prepare(const Chunk<T>& chunk) {
    const int64_t n = chunk.count();
    std::copy_n(chunk.rows.queries, n * chunk.width(), queries);
    std::copy_n(chunk.rows.keys, n * chunk.width(), keys);
    const int64_t width = extents_.decay_width;
    if (width == 0) return;
    const T* const g = chunk.rows.log_decay;
    std::fill_n(sum_, width, T(0));
    for (int64_t i = 0; i < n * width; i += width) {
      for (int64_t c = 0; c < width; ++c) {
        sum_[c] += g[i + c];
        from_start_[i + c] = sum_[c];
      }
    }
    std::fill_n(sum_, width, T(0));
    for (int64_t i = (n - 1) * width; i >= 0; i -= width) {
      for (int64_t c = 0; c < width; ++c) {
        to_end_[i + c] = sum_[c];
        sum_[c] += g[i + c];
      }
    }
    Exp(from_start_, from_start_, n * width);
    Exp(to_end_, to_end_, n * width);
    Decay(n, from_start_, queries);
    Decay(n, to_end_, keys);
  }

  // Multiply each of the first `count` rows of x by a decay. DecayFromStart()
  // uses the decay between the start of the prepared chunk and the row.
  // DecayToEnd() uses the decay between the row and the end of the chunk.
  void DecayFromStart(int64_t count, T* x) const {
    Decay(count, from_start_, x);
  }
  void DecayToEnd(int64_t count, T* x) const { Decay(count, to_end_, x); }

  // Multiplies a state by the decay over the whole prepared chunk of `count`
  // rows.
  void DecayState(int64_t count, T* state) const {
    const int64_t width = extents_.decay_width;
    if (width == 0) return;
    const T* const decay = from_start_ + (count - 1) * width;
    for (int64_t c = 0; c < extents_.key_width; ++c) {
      const T factor = decay[width == 1 ? 0 : c];
      T* const row = state + c * extents_.value_width;
      for (int64_t j = 0; j < extents_.value_width; ++j) row[j] *= factor;
    }
  }

 private:
  void Decay(int64_t count, const T* factors, T* x) const {
    const int64_t width = extents_.key_width;
    if (extents_.decay_width == 1) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < width; ++c) x[i * width + c] *= factors[i];
      }
    } else if (extents_.decay_width > 1) {
      for (int64_t i = 0; i < count * width; ++i) x[i] *= factors[i];
    }
  }

  ScratchScope<T> scope_;
  const Extents extents_;
  T* from_start_;
  T* to_end_;
  T* sum_;
  T* rows_;
};

// Computes the outputs of a chunk, and updates `state` from the state before
// the chunk to the state after it.
template <typename T>
void ComputeChunk(const Chunk<T>& chunk, const Extents& extents,
                  Workspace<T>& work, T* state, T* outputs) {
  const int64_t n = chunk.count();
  const int64_t value_width = extents.value_width;
  work.Prepare(chunk);
  ComputeProducts(chunk.rows, work.rows_scratch(), work.products);
  const ConstMatrix<T> values(chunk.values, n, value_width);
  const MutableMatrix<T> out(outputs, n, value_width);
  Gemm(ConstMatrix<T>(work.queries, n, chunk.width()),
       ConstMatrix<T>(state, chunk.width(), value_width), out);
  Gemm(ConstMatrix<T>(work.products, n, n), values, out, GemmMode::kAdd);
  work.DecayState(n, state);
  Gemm(ConstMatrix<T>(work.keys, n, chunk.width()).Transposed(), values,
       MutableMatrix<T>(state, chunk.width(), value_width), GemmMode::kAdd);
}

// Computes the gradients of a chunk in `work`. `d_outputs` is the gradient of
// the outputs, or null if this gradient is 0. `before` and `after` are the
// states before and after the chunk. Replaces work.d_state, the gradient of
// `after`, by the gradient of `before`.
template <typename T>
void ChunkGradients(const Chunk<T>& chunk, const Extents& extents,
                    const T* before, const T* after, const T* d_outputs,
                    Workspace<T>& work) {
  const int64_t n = chunk.count();
  const int64_t width = chunk.width();
  const int64_t value_width = extents.value_width;
  work.Prepare(chunk);
  const ConstMatrix<T> values(chunk.values, n, value_width);
  const ConstMatrix<T> d_state(work.d_state, width, value_width);
  // Gradients of the product of decayed keys and values, which the chunk adds
  // to the state.
  Gemm(values, d_state.Transposed(), MutableMatrix<T>(work.d_keys, n, width));
  work.DecayToEnd(n, work.d_keys);
  Gemm(ConstMatrix<T>(work.keys, n, width), d_state,
       MutableMatrix<T>(work.d_values, n, value_width));
  std::fill_n(work.d_queries, n * width, T(0));
  if (d_outputs != nullptr) {
    const ConstMatrix<T> d_out(d_outputs, n, value_width);
    Gemm(d_out, ConstMatrix<T>(before, width, value_width).Transposed(),
         MutableMatrix<T>(work.d_queries, n, width));
    work.DecayFromStart(n, work.d_queries);
    ComputeProducts(chunk.rows, work.rows_scratch(), work.products);
    Gemm(ConstMatrix<T>(work.products, n, n).Transposed(), d_out,
         MutableMatrix<T>(work.d_values, n, value_width), GemmMode::kAdd);
    Gemm(d_out, values.Transposed(), MutableMatrix<T>(work.d_products, n, n));
    AddProductGradients(chunk.rows, work.rows_scratch(), work.d_products,
                        work.d_queries, work.d_keys);
  }
  if (extents.decay_width > 0) {
    DecayGradients(chunk.rows, work.d_queries, work.d_keys, work.d_decay);
    // Gradient of the last decay of the chunk, which scales the whole state
    // after the chunk.
    T* const last = work.d_decay + (n - 1) * extents.decay_width;
    for (int64_t c = 0; c < width; ++c) {
      last[extents.decay_width == 1 ? 0 : c] += DotRow(
          after + c * value_width, work.d_state + c * value_width, value_width);
    }
    SumDecayGradients(n, extents.decay_width, work.d_decay);
  }
  work.DecayState(n, work.d_state);
  if (d_outputs != nullptr) {
    Gemm(ConstMatrix<T>(work.queries, n, width).Transposed(),
         ConstMatrix<T>(d_outputs, n, value_width),
         MutableMatrix<T>(work.d_state, width, value_width), GemmMode::kAdd);
  }
}

template <typename T>
void AddTo(T* gradient, int64_t first, int64_t count, const T* from) {
  if (gradient == nullptr) return;
  for (int64_t i = 0; i < count; ++i) gradient[first + i] += from[i];
}

template <typename T>
bool NeedsGrad(Var<T> x) {
  return x.has_value() && x.needs_grad();
}

template <typename T>
Tape<T>& TapeOfInputs(const char* operation, const DecayedInputs<T>& in) {
  Tape<T>& tape = TapeOf(operation, in.queries, in.keys, in.values);
  if (in.log_decay.has_value()) CheckOperand(operation, tape, in.log_decay);
  if (in.state.has_value()) CheckOperand(operation, tape, in.state);
  return tape;
}

}  // namespace

template <typename T>
DecayedOutputs<T> DecayedRecurrence(const DecayedInputs<T>& inputs) {
  Tape<T>* const tape = &TapeOfInputs("DecayedRecurrence", inputs);
  const Extents extents = ExtentsOf(inputs);
  const int64_t size = extents.state();
  const Shape q = inputs.queries.shape();
  const bool needs_grad = NeedsGrad(inputs.queries) || NeedsGrad(inputs.keys) ||
                          NeedsGrad(inputs.values) ||
                          NeedsGrad(inputs.log_decay) ||
                          NeedsGrad(inputs.state);
  const DecayedInputs<T> in = inputs;
  const DecayedOutputs<T> out = {
      tape->New(in.values.shape(), needs_grad),
      tape->New({q[0], q[1], q[3], extents.value_width}, needs_grad)};
  // The states before each chunk, [batch * heads, chunks, state], for the
  // backward pass. Null if no gradients are needed.
  T* const states = out.outputs.needs_grad()
                        ? tape->arena().template New<T>(extents.heads *
                                                        extents.chunks() * size)
                        : nullptr;
  const auto states_of = [=](int64_t head, int64_t chunk) {
    return states + (head * extents.chunks() + chunk) * size;
  };
  {
    Workspace<T> work(*tape, extents, /*backward=*/false);
    for (int64_t head = 0; head < extents.heads; ++head) {
      T* const state = out.state.data() + head * size;
      if (in.state.has_value()) {
        std::copy_n(in.state.data() + head * size, size, state);
      } else {
        std::fill_n(state, size, T(0));
      }
      for (int64_t chunk = 0; chunk < extents.chunks(); ++chunk) {
        if (states != nullptr) std::copy_n(state, size, states_of(head, chunk));
        ComputeChunk(
            ChunkAt(in, extents, head, chunk), extents, work, state,
            out.outputs.data() +
                (head * extents.time + chunk * kChunk) * extents.value_width);
      }
    }
  }
  const Var<T> outs[] = {out.outputs, out.state};
  tape->RecordOutputs("DecayedRecurrence", outs, [=] {
    T* const d_queries = GradToAddTo(in.queries);
    T* const d_keys = GradToAddTo(in.keys);
    T* const d_values = GradToAddTo(in.values);
    T* const d_decay = GradToAddTo(in.log_decay);
    T* const d_initial = GradToAddTo(in.state);
    const T* const d_outputs = out.outputs.grad_data();
    const T* const d_state = out.state.grad_data();
    Workspace<T> work(*tape, extents, /*backward=*/true);
    for (int64_t head = 0; head < extents.heads; ++head) {
      std::fill_n(work.d_state, size, T(0));
      if (d_state != nullptr) {
        std::copy_n(d_state + head * size, size, work.d_state);
      }
      for (int64_t chunk = extents.chunks() - 1; chunk >= 0; --chunk) {
        const int64_t first = head * extents.time + chunk * kChunk;
        const Chunk<T> part = ChunkAt(in, extents, head, chunk);
        const T* const after = chunk + 1 < extents.chunks()
                                   ? states_of(head, chunk + 1)
                                   : out.state.data() + head * size;
        ChunkGradients(part, extents, states_of(head, chunk), after,
                       d_outputs == nullptr
                           ? nullptr
                           : d_outputs + first * extents.value_width,
                       work);
        // Without an initial state, no output depends on the first decay, so
        // its gradient is set to exactly 0.
        if (chunk == 0 && !in.state.has_value()) {
          std::fill_n(work.d_decay, extents.decay_width, T(0));
        }
        const auto add = [&](T* to, int64_t width, const T* from) {
          AddTo(to, first * width, part.count() * width, from);
        };
        add(d_queries, extents.key_width, work.d_queries);
        add(d_keys, extents.key_width, work.d_keys);
        add(d_values, extents.value_width, work.d_values);
        add(d_decay, extents.decay_width, work.d_decay);
      }
      AddTo(d_initial, head * size, size, work.d_state);
    }
  });
  return out;
}

template <typename T>
DecayedOutputs<T> DecayedStep(const DecayedInputs<T>& inputs) {
  TapeOfInputs("DecayedStep", inputs);
  ExtentsOf(inputs);
  REGARD_CHECK_EQ(inputs.queries.dim(2), 1) << "positions of a step";
  // The outer products k v^T: [batch, heads, key width, 1] times [batch, heads,
  // 1, value width].
  Var<T> state = MatMul(inputs.keys, inputs.values, {.a = true});
  if (inputs.state.has_value()) {
    Var<T> before = inputs.state;
    if (inputs.log_decay.has_value()) {
      const Shape& decay = inputs.log_decay.shape();
      before = before *
               Exp(inputs.log_decay.Reshape({decay[0], decay[1], decay[3], 1}));
    }
    state = before + state;
  }
  return {MatMul(inputs.queries, state), state};
}

REGARD_INSTANTIATE_FUNCTION(DecayedRecurrence);
REGARD_INSTANTIATE_FUNCTION(DecayedStep);

}  // namespace regard
