#include "attention/transformer/residual.h"

#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns the DropPath rate of a layer. If the pattern does not set the rate,
// it grows linearly from 0 in the first layer to config.drop_path() in the
// last.
double DropPathRate(const TransformerConfig& config, int64_t layer) {
  if (config.pattern_size() > 0) {
    const TransformerLayerConfig& own =
        config.pattern(static_cast<int>(layer % config.pattern_size()));
    if (own.has_drop_path()) return own.drop_path();
  }
  if (config.layers() == 1) return config.drop_path();
  return config.drop_path() * static_cast<double>(layer) /
         static_cast<double>(config.layers() - 1);
}

}  // namespace

template <typename T>
Var<T> DropPath(Var<T> x, std::type_identity_t<T> rate, const char* site) {
  REGARD_CHECK(x.shape().rank() > 0) << "DropPath of a scalar";
  if (!x.tape().training() || rate == 0) return x;
  const Var<T> kept = Dropout(x.tape().Full({x.dim(0)}, T(1)), rate, site);
  Shape shape = x.shape();
  for (int axis = 1; axis < shape.rank(); ++axis) shape = shape.With(axis, 1);
  return x * kept.Reshape(shape);
}

template <typename T>
Norm<T>::Norm(const NormConfig& config, int64_t width,
              const ParameterScope<T>& scope)
    : NormLayer<T>(scope, width,
                   {.rms = config.kind() == NormConfig::RMS_NORM,
                    .epsilon = config.epsilon(),
                    .bias = config.bias()}) {}

template <typename T>
Residual<T>::Residual(const TransformerConfig& config, int64_t layer,
                      const ParameterScope<T>& scope)
    : pre_(config.norm_order() == TransformerConfig::PRE),
      dropout_(static_cast<T>(config.dropout())),
      drop_path_(static_cast<T>(DropPathRate(config, layer))),
      norm_(config.norm(), config.width(), scope) {}

template <typename T>
Var<T> Residual<T>::AddBranch(Var<T> x, Var<T> branch) const {
  return x +
         DropPath(Dropout(branch, dropout_, "branch"), drop_path_, "drop_path");
}

REGARD_INSTANTIATE_FUNCTION(DropPath);
REGARD_INSTANTIATE_CLASS(Norm);
REGARD_INSTANTIATE_CLASS(Residual);

}  // namespace regard
