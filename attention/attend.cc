#include "attention/attend.h"

#include <optional>

#include "attention/masked_softmax.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"

namespace regard {

template <typename T>
Attended<T> Attender<T>::Attend(Forward<T>& forward,
                                const AttendInputs<T>& inputs) const {
  const NameScope<T> scope(forward.tape(), "attention");
  const bool drop = dropout_ > 0 && forward.tape().training();
  if (!inputs.want_weights && !drop && !inputs.head_mask.has_value()) {
    const std::optional<Var<T>> context =
        scorer_->Attend(forward, inputs.score, inputs.values);
    if (context.has_value()) return {*context, Var<T>()};
  }
  const Var<T> scores = scorer_->Score(forward, inputs.score);
  if (!drop && !inputs.head_mask.has_value()) {
    const WeightsAndContext<T> both = MaskedSoftmaxContext(
        scores, inputs.score.mask, inputs.values, inputs.score.positions);
    return {both.context, both.weights};
  }
  const Var<T> weights =
      MaskedSoftmax(scores, inputs.score.mask, inputs.score.positions);
  Var<T> used = Dropout(weights, dropout_, "weights");
  if (inputs.head_mask.has_value()) {
    used = used * inputs.head_mask.WithShape({inputs.head_mask.size(), 1, 1});
  }
  return {MatMul(used, inputs.values), weights};
}

template class Attender<float>;
template class Attender<double>;

}  // namespace regard
