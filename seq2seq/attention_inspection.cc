#include "seq2seq/attention_inspection.h"

#include <cmath>
#include <optional>
#include <utility>

#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "nn/probe.h"
#include "nn/probes/scoped_probe.h"
#include "seq2seq/attention_maps.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Appends the heads of a map of one query.
template <typename T>
void Describe(const AttentionMap<T>& map, std::vector<InspectedMap>* maps) {
  REGARD_CHECK(map.shape[0] == 1 && map.shape[2] == 1)
      << "weights of one query: " << map.shape;
  const int64_t heads = map.shape[1];
  const int64_t keys = map.shape[3];
  for (int64_t h = 0; h < heads; ++h) {
    InspectedMap head;
    head.name = map.name;
    head.head = h;
    head.over_memory = map.over_memory;
    const auto take = [&](const std::vector<T>& from, std::vector<double>* to) {
      if (from.empty()) return;
      to->assign(from.begin() + h * keys, from.begin() + (h + 1) * keys);
    };
    take(map.weights, &head.weights);
    take(map.gradients, &head.gradients);
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
    Var<T> readout;
    int32_t last = decoder.head().special_ids().begin;
    SiteRecorder<T> recorder({kDecoderMaps}, {kDecoderMaps});
    std::optional<ScopedProbe<T>> watch;
    for (size_t t = 0; t <= u; ++t) {
      if (t == u) watch.emplace(forward, &recorder);
      readout =
          decoder.Advance(forward, absl::MakeConstSpan(&last, 1), {}, &state);
      last = target[t];
    }
    const Var<T> log_probability =
        Slice(LogSoftmax(decoder.head().Logits(
                  forward, readout.WithShape({1, readout.cols()}))),
              /*axis=*/1, last, 1);
    if (log_probability.needs_grad()) {
      forward.tape().Backward(log_probability);
    }
    InspectedStep step;
    step.log_probability = static_cast<double>(log_probability.item());
    const std::vector<AttentionMap<T>> maps = AttentionMaps(recorder);
    for (const AttentionMap<T>& map : maps) Describe(map, &step.maps);
    const std::vector<T> alignment =
        MemoryAlignment<T>(maps, decoder.alignment()).weights;
    step.alignment.assign(alignment.begin(), alignment.end());
    steps.push_back(std::move(step));
  }
  return steps;
}

REGARD_INSTANTIATE_FUNCTION(InspectAttention);

}  // namespace regard
