#include "tools/peers/attention_work.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "tools/peers/step_data.h"

namespace regard {

namespace {

Attention ScaledDotWithAlibi() {
  Attention attention;
  attention.mutable_scaled_dot();
  attention.mutable_position_encoding()->mutable_alibi();
  return attention;
}

double InnerProduct(absl::Span<const float> a, absl::Span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class AttentionWork : public TimedWork {
 public:
  explicit AttentionWork(const WorkOptions& options)
      : backward_(options.kind == "attention"),
        shape_({1, options.heads, options.source_time,
                options.hidden / options.heads}),
        layer_(BuiltInScorers(), ScaledDotWithAlibi(), parameters_.Root(),
               ScoreWidths{.heads = options.heads,
                           .query = options.hidden / options.heads,
                           .key = options.hidden / options.heads}),
        pool_(options.threads) {
    parameters_.Finalize(/*seed=*/1);
    for (int64_t i = 0; i < options.batch; ++i) {
      sequences_.push_back(std::make_unique<Sequence>(parameters_));
    }
    const int64_t size = shape_.size();
    for (uint64_t stream = 1; stream <= kInputs + 1; ++stream) {
      const std::vector<float> all = UniformData(stream, options.batch * size);
      auto values = all.begin();
      for (const auto& sequence : sequences_) {
        std::vector<float>& part =
            stream > kInputs ? sequence->seed : sequence->inputs[stream - 1];
        part.assign(values, values + size);
        values += size;
      }
    }
  }

  ParameterStore<float>& parameters() override { return parameters_; }

  void Step() override {
    pool_.Run(static_cast<int64_t>(sequences_.size()), [this](int64_t i) {
      Attend(*sequences_[static_cast<size_t>(i)]);
    });
  }

  std::vector<double> NumbersToCompare() override {
    Step();
    double sum = 0;
    double squares = 0;
    for (const auto& sequence : sequences_) {
      const absl::Span<const float> context(sequence->context.data(),
                                            sequence->seed.size());
      sum += InnerProduct(context, sequence->seed);
      if (!backward_) squares += InnerProduct(context, context);
      for (const std::vector<float>& gradient : sequence->gradients) {
        squares += InnerProduct(gradient, gradient);
      }
    }
    return {sum, std::sqrt(squares)};
  }

 private:
  static constexpr uint64_t kInputs = 3;  // queries, keys and values

  struct Sequence {
    explicit Sequence(const ParameterStore<float>& parameters)
        : forward(tape, parameters, /*gradients=*/nullptr) {}

    Tape<float> tape;
    Forward<float> forward;
    std::vector<float> inputs[kInputs];
    std::vector<float> gradients[kInputs];  // empty without a backward pass
    std::vector<float> seed;                // gradient of the context
    Var<float> context;
  };

  void Attend(Sequence& sequence) const {
    Forward<float>& forward = sequence.forward;
    forward.BeginStep();
    const auto input = [&](int i) {
      std::vector<float>& gradient = sequence.gradients[i];
      if (backward_) gradient.resize(sequence.inputs[i].size());
      return sequence.tape.Leaf(sequence.inputs[i].data(),
                                backward_ ? gradient.data() : nullptr, shape_);
    };
    AttendInputs<float> inputs;
    inputs.score.queries = input(0);
    inputs.score.keys = layer_.Prepare(forward, {.keys = input(1)});
    inputs.score.mask.causal = true;
    inputs.values = input(2);
    inputs.context_only = true;
    sequence.context = layer_.Attend(forward, inputs).context;
    if (!backward_) return;
    sequence.tape.Backward(
        Sum(sequence.context *
            sequence.tape.Leaf(sequence.seed.data(), nullptr, shape_)));
  }

  const bool backward_;
  const Shape shape_;                 // queries of one sequence
  ParameterStore<float> parameters_;  // empty
  const AttentionLayer<float> layer_;
  WorkerPool pool_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

}  // namespace

std::unique_ptr<TimedWork> MakeAttentionWork(const WorkOptions& options) {
  return std::make_unique<AttentionWork>(options);
}

}  // namespace regard
