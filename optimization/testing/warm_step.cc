#include "optimization/testing/warm_step.h"

#include <utility>
#include <vector>

#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

int64_t CountWarmStepAllocations(Model<float>& model,
                                 absl::Span<const int64_t> examples) {
  GradientSlab<float> gradients(model.parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), &gradients);
  const size_t terms = model.loss_terms().size();
  std::vector<double> denominators(terms);
  std::vector<Var<float>> sums(terms);
  const std::vector<double> seeds(terms, 1.0);
  const auto step = [&] {
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({1, 0, examples});
    model.Denominators(examples, absl::MakeSpan(denominators));
    model.Loss(forward, examples, denominators, absl::MakeSpan(sums));
    forward.Backward(sums, seeds);
  };
  for (int i = 0; i < 3; ++i) step();
  const int64_t before = AllocationCount();
  step();
  return AllocationCount() - before;
}

}  // namespace regard
