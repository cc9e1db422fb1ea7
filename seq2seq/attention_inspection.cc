#include "seq2seq/attention_inspection.h"

#include <cmath>
#include <utility>

#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Appends the heads of a map of one query.
template <typename T>
void Describe(const AttentionMap<T>& map, std::vector<InspectedMap>* maps) {
  REGARD_CHECK(map.weights.dim(0) == 1 && map.weights.dim(2) == 1)
      << "weights of one query: " << map.weights.shape();
  const int64_t heads = map.weights.dim(1);
  const int64_t keys = map.weights.dim(3);
  const T* const gradient = map.weights.grad_data();
  for (int64_t h = 0; h < heads; ++h) {
    InspectedMap head;
    head.name = map.name;
    head.head = h;
    head.over_memory = map.over_memory;
    for (int64_t j = h * keys; j < (h + 1) * keys; ++j) {
      const auto weight = static_cast<double>(map.weights.data()[j]);
      head.weights.push_back(weight);
      if (gradient != nullptr) {
        head.gradients.push_back(static_cast<double>(gradient[j]));
      }
    }
    maps->push_back(std::move(head));
  }
}

}  // namespace

double Entropy(absl::Span<const double> weights) {
  double entropy = 0;
  for (const double weight : weights) {
    if (weight > 0) entropy -= weight * std::log(weight);
  }
  return entropy;
}

template <typename T>
std::vector<InspectedStep> InspectAttention(
    const Decoder<T>& decoder, Forward<T>& forward,
    const std::function<Memory<T>(Forward<T>&)>& encode,
    absl::Span<const int32_t> target) {
  std::vector<InspectedStep> steps;
  for (size_t u = 0; u < target.size(); ++u) {
    forward.BeginStep();
    const Memory<T> memory = encode(forward);
    REGARD_CHECK_EQ(memory.sources, 1) << "sources at a time";
    DecoderState<T> state = decoder.Begin(forward, memory);
    DecoderOutput<T> output;
    int32_t last = decoder.head().special_ids().begin;
    for (size_t t = 0; t <= u; ++t) {
      const bool inspected = t == u;
      output = decoder.Advance(
          forward, absl::MakeConstSpan(&last, 1),
          {.want_maps = inspected, .want_map_gradients = inspected}, &state);
      last = target[t];
    }
    const Var<T> log_probability = Slice(
        LogSoftmax(decoder.head().Logits(
            forward, output.readout.WithShape({1, output.readout.cols()}))),
        /*axis=*/1, last, 1);
    if (log_probability.needs_grad()) {
      forward.tape().Backward(log_probability);
    }
    InspectedStep step;
    step.log_probability = static_cast<double>(log_probability.item());
    for (const AttentionMap<T>& map : output.maps) Describe(map, &step.maps);
    const Var<T> alignment = MemoryAlignment(output.maps, decoder.alignment());
    if (alignment.has_value()) {
      step.alignment.assign(alignment.data(),
                            alignment.data() + alignment.size());
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

REGARD_INSTANTIATE_FUNCTION(InspectAttention);

}  // namespace regard
