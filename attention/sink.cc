#include "attention/sink.h"

#include "attention/sink.pb.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
AttentionSink<T>::AttentionSink(const Sink& config,
                                const ParameterScope<T>& scope, int64_t heads)
    : heads_(heads), constant_(static_cast<T>(config.logit())) {
  if (!config.learned()) return;
  learned_ = scope.Add("logit", {heads}, Constant(config.logit()),
                       {.role = ParameterRole::kHeadBias});
}

template <typename T>
Var<T> AttentionSink<T>::Logits(Forward<T>& forward) const {
  return learned_.has_value() ? forward[learned_]
                              : forward.tape().Full({heads_}, constant_);
}

REGARD_INSTANTIATE_CLASS(AttentionSink);

}  // namespace regard
