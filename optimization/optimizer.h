// Optimizers: rules that change parameters by their gradient.
//
//   Adam<float> adam({.beta2 = 0.98}, store);  // optimizers/adam.h
//   adam.Update({.learning_rate = 1e-3, .gradient = gradients.values()}, pool);
//
// A rule is a class that derives from Optimizer. optimizer_registry.h says how
// configs choose it.
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

// One update of consecutive elements of one parameter.
template <typename T>
struct ParameterUpdate {
  int64_t size;
  T* values;             // [size]
  const T* gradient;     // [size], before clipping
  T clip_factor;         // to multiply the gradient with
  int64_t offset;        // of the elements in the slabs of the state
  double learning_rate;  // the schedule's times the parameter's own scale
  const ParameterInfo& parameter;
  int64_t number;  // of the update, counted from 1
};

// Not copyable.
template <typename T>
class Optimizer {
 public:
  // One number per parameter element that is kept between updates. A checkpoint
  // stores it as one tensor per parameter, "NAME/PARAMETER".
  struct State {
    std::string name;  // "momentum", "first_moment"
    Slab<T> values;    // laid out as the parameters; zero before updates
  };

  struct Step {
    double learning_rate = 0;
    double clip_factor = 1;
    absl::Span<const T> gradient;  // a slab
    // What to update; nothing: all.
    std::optional<ChunkRange> chunks = std::nullopt;
  };

  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates the trainable parameters. The bits depend neither on the number of
  // threads nor on what else is updated; no heap allocation.
  void Update(const Step& step, WorkerPool& pool);

  // All that a checkpoint keeps of an optimizer.
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }
  absl::Span<State> state() { return absl::MakeSpan(state_); }

  // The default of OptimizerRegistry. A rule whose message has limits besides
  // (range) declares its own.
  static void Validate(const auto& options, auto& problems) {
    problems.CheckRanges(options);
  }

 protected:
  // `parameters` is finalized and outlives this.
  Optimizer(ParameterStore<T>& parameters,
            const std::vector<std::string>& state_names);

  // Applies the rule. Calls for different elements run at the same time.
  virtual void Apply(const ParameterUpdate<T>& update) = 0;

  // The part of state `index` that belongs to the elements of `update`.
  T* StateOf(int index, const ParameterUpdate<T>& update) {
    return state_[index].values.data() + update.offset;
  }

 private:
  ParameterStore<T>& parameters_;
  const SlabChunks chunks_;
  std::vector<State> state_;
  int64_t updates_ = 0;
};

// The factor that bounds a gradient's norm by `max_norm` > 0, as
// torch.nn.utils.clip_grad_norm_; 1 if max_norm is 0. NaN if the norm is NaN,
// and 0 if it is infinite: an update by such a gradient shows in the
// parameters.
double ClipFactor(double gradient_norm, double max_norm);

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZER_H_
