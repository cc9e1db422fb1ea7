#include "seq2seq/attention_inspection.h"

#include <cmath>

#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "seq2seq/vocabulary.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

template <typename T>
InspectedStep Describe(Var<T> weights, Var<T> values, Var<T> context,
                       Var<T> log_probability) {
  const int64_t time = weights.size();
  const int64_t width = values.cols();
  InspectedStep step;
  step.log_probability = static_cast<double>(log_probability.item());
  const T* const slope = context.grad_data();
  REGARD_CHECK(slope != nullptr) << "the context does not reach the output";
  for (int64_t j = 0; j < time; ++j) {
    const auto weight = static_cast<double>(weights.data()[j]);
    step.weights.push_back(weight);
    if (weight > 0) step.entropy -= weight * std::log(weight);
    double gradient = 0;
    for (int64_t i = 0; i < width; ++i) {
      gradient += static_cast<double>(values.data()[j * width + i]) *
                  static_cast<double>(slope[i]);
    }
    step.gradients.push_back(gradient);
  }
  return step;
}

}  // namespace

template <typename T>
std::vector<InspectedStep> InspectAttention(const Seq2SeqModel<T>& model,
                                            Forward<T>& forward,
                                            absl::Span<const int32_t> source,
                                            absl::Span<const int32_t> target) {
  REGARD_CHECK(model.has_attention()) << "nothing to inspect";
  const int32_t lengths[] = {static_cast<int32_t>(source.size())};
  std::vector<InspectedStep> steps;
  for (size_t u = 0; u < target.size(); ++u) {
    forward.BeginStep();
    DecoderState<T> state;
    const EncodedSource<T> encoded =
        model.Encode(forward, source, lengths, &state);
    typename Seq2SeqModel<T>::Step step;
    int32_t last = Vocabulary::kBegin;
    for (size_t t = 0; t <= u; ++t) {
      step = model.Advance(
          forward, encoded, state,
          model.Embed(forward, absl::MakeConstSpan(&last, 1), {1}));
      state = step.state;
      last = target[t];
    }
    const Var<T> log_probability = Slice(
        LogSoftmax(model.Logits(forward, step.readout)), /*axis=*/1, last, 1);
    forward.tape().Backward(log_probability);
    steps.push_back(
        Describe(step.weights, encoded.values, step.context, log_probability));
  }
  return steps;
}

template std::vector<InspectedStep> InspectAttention<float>(
    const Seq2SeqModel<float>&, Forward<float>&, absl::Span<const int32_t>,
    absl::Span<const int32_t>);
template std::vector<InspectedStep> InspectAttention<double>(
    const Seq2SeqModel<double>&, Forward<double>&, absl::Span<const int32_t>,
    absl::Span<const int32_t>);

}  // namespace regard
