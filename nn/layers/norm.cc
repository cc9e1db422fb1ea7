#include "nn/layers/norm.h"

#include <cstddef>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/norm.h"
#include "autodiff/ops/reductions.h"
#include "nn/initializers.h"

namespace regard {

namespace {

// Returns the name of the hook point of the scale, such as
// "attention_norm_scale" for the weight "layers.0.attention_norm.weight".
std::string ScaleSite(absl::string_view weight) {
  absl::string_view scope = weight.substr(0, weight.rfind('.'));
  if (scope.size() == weight.size()) scope = "";
  if (const size_t dot = scope.rfind('.'); dot != scope.npos) {
    scope.remove_prefix(dot + 1);
  }
  if (absl::EndsWith(scope, "norm")) return absl::StrCat(scope, "_scale");
  return absl::StrCat(scope, scope.empty() ? "" : "_", "norm_scale");
}

}  // namespace

template <typename T>
NormLayer<T>::NormLayer(const ParameterScope<T>& scope, int64_t width,
                        const NormOptions& options)
    : options_(options),
      weight_(scope.Add("weight", {width}, Constant(1),
                        {.role = ParameterRole::kNormalization})) {
  if (options.rms || !options.bias) return;
  bias_ = scope.Add("bias", {width}, Zeros(),
                    {.role = ParameterRole::kNormalization});
}

template <typename T>
Var<T> NormLayer<T>::operator()(Forward<T>& forward, Var<T> x) const {
  const T epsilon = static_cast<T>(options_.epsilon);
  const Var<T> bias = bias_.has_value() ? forward[bias_] : Var<T>();
  if (forward.hook() != nullptr) {
    constexpr bool kKeep = true;
    const std::string site = ScaleSite(forward.parameters().info(weight_).name);
    const auto centred = [&] {
      return options_.rms ? x : x - Mean(x, /*axis=*/-1, kKeep);
    };
    const auto scale = [&] {
      return T(1) / Sqrt(Mean(Square(centred()), /*axis=*/-1, kKeep) + epsilon);
    };
    if (forward.Request(site.c_str()).changes_path()) {
      const Var<T> y =
          centred() * forward.Site(site.c_str(), scale()) * forward[weight_];
      return bias.has_value() ? y + bias : y;
    }
    forward.LazySite(site.c_str(), scale);
  }
  if (options_.rms) return RmsNorm(x, forward[weight_], epsilon);
  return LayerNorm(x, forward[weight_], bias, epsilon);
}

REGARD_INSTANTIATE_CLASS(NormLayer);

}  // namespace regard
