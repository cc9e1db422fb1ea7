#include "optimization/optimizer.h"

#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

double ClipFactor(double gradient_norm, double max_norm) {
  if (max_norm <= 0) return 1;
  const double factor = max_norm / (gradient_norm + 1e-6);
  return factor > 1 ? 1 : factor;  // std::min() would lose a NaN
}

template <typename T>
Optimizer<T>::Optimizer(ParameterStore<T>& parameters,
                        const std::vector<std::string>& state_names)
    : parameters_(parameters), chunks_(parameters) {
  for (const std::string& name : state_names) {
    state_.push_back({name, Slab<T>(parameters.slab_size())});
  }
}

template <typename T>
void Optimizer<T>::Update(const Step& step, WorkerPool& pool) {
  REGARD_CHECK_EQ(static_cast<int64_t>(step.gradient.size()),
                  parameters_.slab_size())
      << "the gradient is not a slab of this store";
  ++updates_;
  const ChunkRange chunks = step.chunks.value_or(chunks_.all());
  T* const values = parameters_.values().data();
  pool.Run(chunks.size(), [&](int64_t i) {
    const int64_t chunk = chunks.begin + i;
    for (const SlabChunks::Range& range : chunks_[chunk]) {
      const ParameterInfo& info = parameters_.parameters()[range.parameter];
      Apply({.size = range.end - range.begin,
             .values = values + range.begin,
             .gradient = step.gradient.data() + range.begin,
             .clip_factor = static_cast<T>(step.clip_factor),
             .offset = range.begin,
             .learning_rate =
                 step.learning_rate * info.options.learning_rate_scale,
             .parameter = info,
             .number = updates_});
    }
  });
}

REGARD_INSTANTIATE_CLASS(Optimizer);

}  // namespace regard
