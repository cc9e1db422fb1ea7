#include "attention/score_scale.h"

#include <cstdint>

namespace regard {

template <typename T>
ScoreScaleParameter<T>::ScoreScaleParameter(const ScoreScale& options,
                                            ParameterScope<T> scope,
                                            absl::string_view name,
                                            const ScoreWidths& widths,
                                            const Initializer& initializer)
    : fixed_(static_cast<T>(options.has_value() ? options.value() : 1)) {
  if (!options.learned()) return;
  const int64_t width = options.per_dimension() ? widths.query : 1;
  learned_ =
      scope.Add(name, {widths.heads, width},
                options.has_value() ? Constant(options.value()) : initializer);
}

template <typename T>
Var<T> ScoreScaleParameter<T>::Values(Forward<T>& forward) const {
  if (learned_.has_value()) return forward[learned_];
  return forward.tape().Full({1}, fixed_);
}

template <typename T>
Var<T> ScoreScaleParameter<T>::ForRows(Forward<T>& forward) const {
  const Var<T> scale = Values(forward);
  if (!learned_.has_value()) return scale;
  return scale.WithShape({scale.dim(0), 1, scale.dim(1)});
}

REGARD_INSTANTIATE_CLASS(ScoreScaleParameter);

}  // namespace regard
