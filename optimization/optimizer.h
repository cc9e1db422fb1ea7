// The interface of optimizers: rules that change parameters according to their
// gradients.
//
//   Adam<float> adam({.beta2 = 0.98}, store);  // optimizers/adam.h
//   adam.Update({.learning_rate = 1e-3, .gradient = gradients.values()}, pool);
//
// A rule is a class that derives from Optimizer. Configs choose it through
// optimizer_registry.h.
#ifndef OPTIMIZATION_OPTIMIZER_H_
#define OPTIMIZATION_OPTIMIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/worker_pool.h"
#include "nn/parameters.h"
#include "optimization/slab_chunks.h"

namespace regard {

// One optimizer step for consecutive elements of one parameter.
template <typename T>
struct ParameterRangeUpdate {
  int64_t size;
  T* values;             // [size]
  const T* gradient;     // [size], before clipping
  T clip_factor;         // factor of the gradient
  int64_t offset;        // offset of the elements in the slabs of the state
  double learning_rate;  // includes the parameter's own scale
  const ParameterInfo& parameter;
  int64_t number;  // number of the optimizer step, counted from 1
};

// The base class of optimizers. Not copyable.
template <typename T>
class Optimizer {
 public:
  // State that is kept between optimizer steps: one number for each element of
  // the parameters. A checkpoint stores it as one tensor per parameter,
  // "NAME/PARAMETER".
  struct State {
    std::string name;  // a name such as "momentum" or "first_moment"
    // Laid out like the parameters. Zero before the first step.
    Slab<T> values;
  };

  struct Step {
    double learning_rate = 0;
    double clip_factor = 1;
    absl::Span<const T> gradient;  // a slab
    // The chunks to update. `nullopt` means all.
    std::optional<ChunkRange> chunks = std::nullopt;
  };

  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates the trainable parameters. The result is bit-identical for any
  // number of threads. The result for a chunk does not depend on which other
  // chunks are updated. Makes no heap allocation.
  void Update(const Step& step, WorkerPool& pool);

  // The number of optimizer steps so far. A checkpoint stores it and state().
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }
  absl::Span<State> state() { return absl::MakeSpan(state_); }

  // The default validation of OptimizerRegistry. A rule whose message has
  // limits other than (range) declares its own Validate().
  static void Validate(const auto& options, auto& problems) {
    problems.CheckRanges(options);
  }

 protected:
  // `parameters` must be finalized, and must outlive this object.
  Optimizer(ParameterStore<T>& parameters,
            const std::vector<std::string>& state_names);

  // Applies the rule. Calls for different elements may run at the same time.
  virtual void Apply(const ParameterRangeUpdate<T>& update) = 0;

  // Returns the part of state `index` that belongs to the elements of `update`.
  T* StateOf(int index, const ParameterRangeUpdate<T>& update) {
    return state_[index].values.data() + update.offset;
  }

 private:
  ParameterStore<T>& parameters_;
  const SlabChunks chunks_;
  std::vector<State> state_;
  int64_t updates_ = 0;
};

// Returns the factor that limits the norm of a gradient to `max_norm` > 0, as
// torch.nn.utils.clip_grad_norm_ does. Returns 1 if max_norm is 0, and 0 if the
// norm is infinite. Returns NaN if the norm is NaN, so that the fault becomes
// visible in the parameters.
double ClipFactor(double gradient_norm, double max_norm);

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZER_H_
