#include "attention/score_scale.h"

#include <cmath>
#include <cstdint>

#include "attention/scoring/scale.pb.h"
#include "autodiff/ops/elementwise.h"

namespace regard {

namespace {

double DivisorOf(const ScoreScale& options, int64_t width) {
  switch (options.divided_by()) {
    case ScoreScale::ROOT_OF_WIDTH:
      return std::sqrt(static_cast<double>(width));
    case ScoreScale::WIDTH:
      return static_cast<double>(width);
    default:
      return 1;
  }
}

}  // namespace

template <typename T>
FixedOrLearnedScale<T>::FixedOrLearnedScale(const ScoreScale& options,
                                            ParameterScope<T> scope,
                                            absl::string_view name,
                                            const ScoreWidths& widths,
                                            const Initializer& initializer) {
  const double divisor = DivisorOf(options, widths.query);
  const double value = options.has_value() ? options.value() : 1;
  fixed_ = static_cast<T>(value / divisor);
  if (!options.learned()) return;
  const Initializer first = options.has_value() ? Constant(value) : initializer;
  learned_ = scope.Add(
      name, {widths.heads, options.per_dimension() ? widths.query : 1},
      [=](const RandomStream& stream, int64_t i) {
        return first(stream, i) / divisor;
      },
      {.role = ParameterRole::kHeadBias});
}

template <typename T>
Var<T> FixedOrLearnedScale<T>::Values(Forward<T>& forward) const {
  if (learned_.has_value()) return forward[learned_];
  return forward.tape().Full({1}, fixed_);
}

template <typename T>
Var<T> FixedOrLearnedScale<T>::MultiplyByLearnedScale(Forward<T>& forward,
                                                      Var<T> rows) const {
  if (!learned_.has_value()) return rows;
  const Var<T> scale = forward[learned_];
  return rows * scale.Reshape({scale.dim(0), 1, scale.dim(1)});
}

REGARD_INSTANTIATE_CLASS(FixedOrLearnedScale);

}  // namespace regard
