#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
Var<T> ProjectHeads(Var<T> x, Var<T> weight) {
  if (weight.dim(0) == 1) {
    return Linear(x, weight.Reshape({weight.dim(1), weight.dim(2)}), Var<T>());
  }
  return MatMul(x, weight, {.b = true});
}

template <typename T>
Var<T> L2Normalize(Var<T> x) {
  return x / Sqrt(Sum(Square(x), /*axis=*/-1, /*keep=*/true) + 1e-12);
}

template <typename T>
Var<T> WindowsAroundKeys(Var<T> weights, int64_t reach) {
  const Shape shape = weights.shape();
  const int64_t seen = 2 * reach + 1;
  const Var<T> end =
      weights.tape().Full({shape[0], shape[1], shape[2], reach}, T(0));
  const Var<T> padded[] = {end, weights, end};
  const Var<T> row = Concat<T>(padded, /*axis=*/3);
  auto* shifted = weights.tape().arena().template New<Var<T>>(seen);
  for (int64_t i = 0; i < seen; ++i) {
    shifted[i] = Slice(row, /*axis=*/3, i, shape[3]);
  }
  return Stack<T>({shifted, static_cast<size_t>(seen)}, /*axis=*/4)
      .Reshape({shape[0], shape[1], shape[2] * shape[3], seen});
}

REGARD_INSTANTIATE_FUNCTION(ProjectHeads);
REGARD_INSTANTIATE_FUNCTION(L2Normalize);
REGARD_INSTANTIATE_FUNCTION(WindowsAroundKeys);

}  // namespace regard
