#include "optimization/model_pass.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// More examples would only make the pass slower.
constexpr int64_t kMaxExamples = 2;

}  // namespace

void RunModelOnce(Model<float>& model, uint64_t seed, Forward<float>& forward,
                  const std::function<bool()>& is_done) {
  std::vector<int64_t> examples(
      std::min<int64_t>(kMaxExamples, model.num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  if (examples.empty()) {  // some models only evaluate
    for (const Split split : {Split::kDev, Split::kTest}) {
      if (!is_done()) model.Evaluate(forward, split);
    }
    return;
  }
  std::vector<double> denominators(model.loss_terms().size());
  std::vector<Var<float>> sums(denominators.size());
  model.Denominators(examples, absl::MakeSpan(denominators));
  forward.BeginStep();
  forward.tape().set_training(true);
  forward.tape().set_random({seed, 0, examples});
  model.Loss(forward, examples, denominators, absl::MakeSpan(sums));
}

}  // namespace regard
