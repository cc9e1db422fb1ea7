// A weight that meets a few rows in each of many steps, such as a decoder's.
//
// The forward products of all steps share one transposed copy of it, and its
// gradient is one product over the rows of all steps, made when the backward
// pass has left them: products of few rows, each of which reads and writes the
// whole gradient, would be slower.
#ifndef AUTODIFF_OPS_STEP_WEIGHT_H_
#define AUTODIFF_OPS_STEP_WEIGHT_H_

#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"

namespace regard {

// Lives in the tape's arena; made before the first step.
template <typename T>
class StepWeight {
 public:
  // weight [out, in].
  static StepWeight* New(Var<T> weight);

  const Var<T>& weight() const { return weight_; }
  // [in, out].
  const ConstMatrix<T>& transposed() const { return transposed_; }

  // For the backward closure of a step: rows first .. first + columns of g - 1
  // of the weight's gradient shall get g^T x. x has as many rows as g and `in`
  // columns; both stay as they are until the backward pass ends.
  void AddGradient(int64_t first, const ConstMatrix<T>& g, const T* x);

 private:
  struct Term {
    int64_t first;
    ConstMatrix<T> g;
    const T* x;
    Term* next;
  };

  explicit StepWeight(Var<T> weight);

  // Adds all terms to the gradient.
  void AddTerms();
  // Adds those of them that belong to the rows from `first` on.
  void AddTermsOf(int64_t first, T* gradient);

  Var<T> weight_;
  ConstMatrix<T> transposed_;
  Var<T> steps_;           // stands for all steps: touched if one was
  Term* terms_ = nullptr;  // the newest first
};

// x [rows, in] times the transpose of the weight, plus `addend`: a bias [out],
// or [rows, out], or nothing -> [rows, out]. One step of Linear.
template <typename T>
Var<T> StepLinear(Var<T> x, StepWeight<T>* weight, Var<T> addend);

extern template class StepWeight<float>;
extern template class StepWeight<double>;

}  // namespace regard

#endif  // AUTODIFF_OPS_STEP_WEIGHT_H_
