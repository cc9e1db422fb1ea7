#include "autodiff/ops/step_weight.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include "autodiff/arena.h"
#include "autodiff/ops/recurrent_rows.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

template <typename T>
ConstMatrix<T> TransposedCopy(Var<T> weight) {
  const int64_t out = weight.dim(0);
  const int64_t in = weight.dim(1);
  T* const copy = weight.tape().arena().template New<T>(out * in);
  CopyTransposed(weight.data(), out, in, copy);
  return {copy, in, out};
}

}  // namespace

template <typename T>
StepWeight<T>* StepWeight<T>::New(Var<T> weight) {
  REGARD_CHECK_EQ(weight.shape().rank(), 2) << weight.shape();
  Tape<T>& tape = weight.tape();
  auto* const self =
      new (tape.arena().Allocate(sizeof(StepWeight))) StepWeight(weight);
  // Before the records of all steps, so it runs after them.
  tape.Record("StepWeight", self->steps_, [=] { self->AddTerms(); });
  return self;
}

template <typename T>
StepWeight<T>::StepWeight(Var<T> weight)
    : weight_(weight),
      transposed_(TransposedCopy(weight)),
      steps_(weight.tape().New({}, weight.needs_grad())) {
  *steps_.data() = T(0);
}

template <typename T>
void StepWeight<T>::AddGradient(int64_t first, const ConstMatrix<T>& g,
                                const T* x) {
  auto d = steps_.grad_ref();
  if (!d) return;
  d.BeginPartial();
  terms_ = new (weight_.tape().arena().Allocate(sizeof(Term)))
      Term{first, g, x, terms_};
}

template <typename T>
void StepWeight<T>::AddTerms() {
  auto d = weight_.grad_ref();
  if (!d) return;
  T* const gradient = d.BeginPartial();
  int64_t first = -1;
  while (true) {
    int64_t next = std::numeric_limits<int64_t>::max();
    for (const Term* term = terms_; term != nullptr; term = term->next) {
      if (term->first > first) next = std::min(next, term->first);
    }
    if (next == std::numeric_limits<int64_t>::max()) return;
    first = next;
    AddTermsOf(first, gradient);
  }
}

template <typename T>
void StepWeight<T>::AddTermsOf(int64_t first, T* gradient) {
  int64_t rows = 0;
  int64_t out = 0;
  for (const Term* term = terms_; term != nullptr; term = term->next) {
    if (term->first != first) continue;
    rows += term->g.rows;
    out = term->g.cols;
  }
  const int64_t in = weight_.dim(1);
  ScratchScope<T> scratch(weight_.tape());
  T* const g = scratch.New(rows * out);
  T* const x = scratch.New(rows * in);
  int64_t row = 0;
  for (const Term* term = terms_; term != nullptr; term = term->next) {
    if (term->first != first) continue;
    for (int64_t i = 0; i < term->g.rows; ++i) {
      std::copy_n(term->g.data + i * term->g.stride, out, g + (row + i) * out);
    }
    std::copy_n(term->x, term->g.rows * in, x + row * in);
    row += term->g.rows;
  }
  Gemm<T>(ConstMatrix<T>(g, rows, out).Transposed(), {x, rows, in},
          {gradient + first * in, out, in}, GemmMode::kAdd);
}

template <typename T>
Var<T> StepLinear(Var<T> x, StepWeight<T>* weight, Var<T> addend) {
  const int64_t in = weight->weight().dim(1);
  const int64_t out = weight->weight().dim(0);
  REGARD_CHECK(x.shape().rank() == 2 && x.cols() == in)
      << "StepLinear of " << x.shape() << " with weight "
      << weight->weight().shape();
  const int64_t rows = x.rows();
  const bool added = addend.has_value();
  const bool biased = added && addend.shape().rank() == 1;
  if (added) {
    REGARD_CHECK_EQ(addend.shape(), biased ? Shape({out}) : Shape({rows, out}))
        << "what StepLinear adds";
  }
  Tape<T>& tape = x.tape();
  Var<T> y =
      tape.New({rows, out}, x.needs_grad() || weight->weight().needs_grad() ||
                                (added && addend.needs_grad()));
  const ConstMatrix<T> from(x.data(), rows, in);
  const MutableMatrix<T> to(y.data(), rows, out);
  if (added) {
    GemmPlus<T>(from, weight->transposed(),
                {addend.data(), rows, out, biased ? 0 : out}, to);
  } else {
    Gemm<T>(from, weight->transposed(), to);
  }
  tape.Record("StepLinear", y, [=] {
    const ConstMatrix<T> g(y.grad_data(), rows, out);
    if (auto d = x.grad_ref()) {
      const GemmMode mode = d.Begin() ? GemmMode::kAdd : GemmMode::kAssign;
      Gemm<T>(g, {weight->weight().data(), out, in}, {d.data(), rows, in},
              mode);
    }
    weight->AddGradient(0, g, x.data());
    if (!added) return;
    if (auto d = addend.grad_ref()) {
      if (biased) {
        AddColumnSums(g.data, rows, out, d.BeginPartial());
      } else {
        d.AddEach([=](int64_t i) { return g.data[i]; });
      }
    }
  });
  return y;
}

#define REGARD_INSTANTIATE(T)   \
  template class StepWeight<T>; \
  template Var<T> StepLinear(Var<T>, StepWeight<T>*, Var<T>);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
