#include "attention/scoring_kit.h"

#include "absl/strings/str_cat.h"

namespace regard {

template <typename T>
Var<T> InnerProducts(Var<T> queries, Var<T> keys) {
  return MatMul(queries, keys, {.b = true});
}

template <typename T>
Var<T> ProjectHeads(Var<T> x, Var<T> weight) {
  if (weight.dim(0) == 1) {
    return Linear(x, weight.WithShape({weight.dim(1), weight.dim(2)}),
                  Var<T>());
  }
  return MatMul(x, weight, {.b = true});
}

template <typename T>
Var<T> Differences(Var<T> queries, Var<T> keys) {
  const Shape& q = queries.shape();
  const Shape& k = keys.shape();
  return queries.WithShape({q[0], q[1], q[2], 1, q[3]}) -
         keys.WithShape({k[0], k[1], 1, k[2], k[3]});
}

void RequireEqualWidths(const ScoreWidths& widths, ConfigProblems& problems) {
  if (widths.query == widths.key) return;
  problems.Add("", absl::StrCat("this score needs query and key of one width; "
                                "the query has ",
                                widths.query, ", the key ", widths.key));
}

template Var<float> InnerProducts(Var<float>, Var<float>);
template Var<double> InnerProducts(Var<double>, Var<double>);
template Var<float> ProjectHeads(Var<float>, Var<float>);
template Var<double> ProjectHeads(Var<double>, Var<double>);
template Var<float> Differences(Var<float>, Var<float>);
template Var<double> Differences(Var<double>, Var<double>);

}  // namespace regard
