#include "attention/mixers/delta_recurrence.h"

#include <cstdint>

#include "absl/types/span.h"
#include "attention/mixers/decayed_products.h"
#include "autodiff/ops/cumulative_sum.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/unit_lower_solve.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int64_t kChunk = 64;

template <typename T>
void CheckInputs(const char* operation, const DeltaInputs<T>& inputs) {
  const DecayedInputs<T>& in = inputs.decayed;
  Tape<T>& tape = TapeOf(operation, in.queries, in.keys, in.values);
  CheckOperand(operation, tape, inputs.rates);
  const Shape& q = in.queries.shape();
  const Shape& v = in.values.shape();
  REGARD_CHECK(q.rank() == 4 && in.keys.shape() == q && v.rank() == 4 &&
               v.With(3, q[3]) == q && inputs.rates.shape() == q.With(3, 1))
      << operation << " with queries " << q << ", keys " << in.keys.shape()
      << ", values " << v << ", rates " << inputs.rates.shape();
}

// Computes one chunk. The decay and the state may be empty.
template <typename T>
DecayedOutputs<T> ComputeChunk(DeltaInputs<T> inputs) {
  DecayedInputs<T>& in = inputs.decayed;
  Var<T> written = in.values;
  if (in.state.has_value()) {
    Var<T> keys = in.keys;
    if (in.log_decay.has_value()) {
      keys = keys * Exp(CumulativeSum(in.log_decay, 2));
    }
    written = written - MatMul(keys, in.state);
  }
  const Var<T> products = DecayedProducts(in.keys, in.keys, in.log_decay);
  in.values = UnitLowerSolve(products * inputs.rates, written * inputs.rates);
  return DecayedRecurrence(in);
}

}  // namespace

template <typename T>
DecayedOutputs<T> DeltaRecurrence(const DeltaInputs<T>& inputs) {
  CheckInputs("DeltaRecurrence", inputs);
  const DecayedInputs<T>& in = inputs.decayed;
  // If there are no positions, the final state is the initial state, or 0.
  if (in.queries.dim(2) == 0) return DecayedRecurrence(in);
  const Var<T> all[] = {in.queries, in.keys, in.values, inputs.rates,
                        in.log_decay};
  const size_t count = in.log_decay.has_value() ? 5 : 4;
  const auto link = [](absl::Span<const Var<T>> in, Var<T> state, int64_t first,
                       int64_t count) {
    const auto part = [&](size_t i) { return Slice(in[i], 2, first, count); };
    const DecayedOutputs<T> out = ComputeChunk<T>(
        {{part(0), part(1), part(2), in.size() > 4 ? part(4) : Var<T>(), state},
         part(3)});
    return RowsAndState<T>{out.outputs, out.state};
  };
  const RowsAndState<T> last =
      RecomputeChain(in.queries.tape(), absl::MakeConstSpan(all, count),
                     in.state, in.values.shape(), kChunk, link);
  return {last.rows, last.state};
}

template <typename T>
DecayedOutputs<T> DeltaStep(const DeltaInputs<T>& inputs) {
  CheckInputs("DeltaStep", inputs);
  DecayedInputs<T> in = inputs.decayed;
  if (in.state.has_value()) {
    if (in.log_decay.has_value()) {
      const Shape& decay = in.log_decay.shape();
      in.state = in.state *
                 Exp(in.log_decay.Reshape({decay[0], decay[1], decay[3], 1}));
      in.log_decay = {};
    }
    in.values = in.values - MatMul(in.keys, in.state);
  }
  in.values = in.values * inputs.rates;
  return DecayedStep(in);
}

template <typename T>
Var<T> DeltaMatrix(const DeltaInputs<T>& inputs) {
  CheckInputs("DeltaMatrix", inputs);
  const DecayedInputs<T>& in = inputs.decayed;
  const int64_t time = in.queries.dim(2);
  const Var<T> identity = in.queries.tape().Full({time, time}, T(0));
  for (int64_t t = 0; t < time; ++t) identity.at(t, t) = T(1);
  const Var<T> products = DecayedProducts(in.keys, in.keys, in.log_decay);
  return MatMul(
      DecayedProducts(in.queries, in.keys, in.log_decay),
      UnitLowerSolve(products * inputs.rates, identity * inputs.rates));
}

REGARD_INSTANTIATE_FUNCTION(DeltaRecurrence);
REGARD_INSTANTIATE_FUNCTION(DeltaStep);
REGARD_INSTANTIATE_FUNCTION(DeltaMatrix);

}  // namespace regard
