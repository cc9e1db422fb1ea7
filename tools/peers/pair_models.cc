#include "tools/peers/pair_models.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "tools/peers/step_data.h"

namespace regard {

namespace {

// A model with fixed inputs, whose loss is a sum over examples.
class FixedInputModel : public Model<float> {
 public:
  explicit FixedInputModel(int64_t batch) : batch_(batch) {}

  ParameterStore<float>& parameters() override { return parameters_; }
  int64_t num_examples() const override { return batch_; }
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  void Denominators(absl::Span<const int64_t>,
                    absl::Span<double> denominators) const override {
    denominators[0] = 1;
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 protected:
  // Returns the rows of consecutive examples. Each example has `size` elements.
  static absl::Span<const float> Rows(const std::vector<float>& all,
                                      absl::Span<const int64_t> examples,
                                      int64_t size) {
    return absl::MakeConstSpan(all).subspan(
        static_cast<size_t>(examples[0] * size),
        examples.size() * static_cast<size_t>(size));
  }

  ParameterStore<float> parameters_;

 private:
  const int64_t batch_;
  const LossTerm terms_[1] = {{"loss", 1}};
};

class AdditivePairModel : public FixedInputModel {
 public:
  explicit AdditivePairModel(const WorkOptions& options)
      : FixedInputModel(options.batch),
        queries_(options.target_time),
        keys_(options.source_time),
        width_(options.hidden),
        query_data_(UniformData(1, options.batch * queries_ * width_)),
        key_data_(UniformData(2, options.batch * keys_ * width_)),
        seeds_(UniformData(3, options.batch * queries_ * keys_)) {
    Attention attention;
    attention.mutable_additive();
    scorer_ = BuiltInScorers().Create<float>(
        attention, parameters_.Root(),
        ScoreWidths{.heads = 1, .query = width_, .key = width_});
    parameters_.Finalize(/*seed=*/1);
  }

  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    Tape<float>& tape = forward.tape();
    const auto n = static_cast<int64_t>(examples.size());
    ScoreInputs<float> inputs;
    inputs.queries = tape.Input({n, 1, queries_, width_},
                                Rows(query_data_, examples, queries_ * width_));
    inputs.keys = scorer_->Prepare(
        forward,
        {.keys = tape.Input({n, 1, keys_, width_},
                            Rows(key_data_, examples, keys_ * width_))});
    const Var<float> seeds = tape.Constant(
        {n, 1, queries_, keys_}, Rows(seeds_, examples, queries_ * keys_));
    sums[0] = Sum(scorer_->Score(forward, inputs) * seeds);
  }

 private:
  const int64_t queries_;
  const int64_t keys_;
  const int64_t width_;
  const std::vector<float> query_data_;
  const std::vector<float> key_data_;
  const std::vector<float> seeds_;
  std::unique_ptr<ScoringFunction<float>> scorer_;
};

class MultiHeadModel : public FixedInputModel {
 public:
  explicit MultiHeadModel(const WorkOptions& options)
      : FixedInputModel(options.batch),
        time_(options.source_time),
        heads_(options.heads),
        width_(options.hidden),
        data_(UniformData(1, options.batch * time_ * width_)),
        seeds_(UniformData(2, options.batch * time_ * width_)) {
    const char* const names[] = {"query", "key", "value", "output"};
    for (int i = 0; i < 4; ++i) {
      const ParameterScope<float> scope = parameters_.Root().Sub(names[i]);
      weights_[i] =
          scope.Add("weight", {width_, width_}, XavierUniform(width_, width_));
      biases_[i] = scope.Add("bias", {width_}, LinearDefault(width_));
    }
    parameters_.Finalize(/*seed=*/1);
  }

  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    Tape<float>& tape = forward.tape();
    const auto n = static_cast<int64_t>(examples.size());
    const Shape shape = {n, time_, width_};
    const Var<float> x =
        tape.Input(shape, Rows(data_, examples, time_ * width_));
    const Var<float> seeds =
        tape.Constant(shape, Rows(seeds_, examples, time_ * width_));
    const auto heads = [&](int i) {
      return SplitHeads(Linear(x, forward[weights_[i]], forward[biases_[i]]),
                        heads_);
    };
    const float scale = 1 / std::sqrt(static_cast<float>(width_ / heads_));
    const Var<float> context = MergeHeads(
        ScaledDotAttention({heads(0), heads(1), scale}, heads(2), Mask()));
    sums[0] =
        Sum(Linear(context, forward[weights_[3]], forward[biases_[3]]) * seeds);
  }

 private:
  const int64_t time_;
  const int64_t heads_;
  const int64_t width_;
  const std::vector<float> data_;
  const std::vector<float> seeds_;
  Parameter<float> weights_[4];
  Parameter<float> biases_[4];
};

}  // namespace

std::unique_ptr<Model<float>> MakeAdditivePairModel(
    const WorkOptions& options) {
  return std::make_unique<AdditivePairModel>(options);
}

std::unique_ptr<Model<float>> MakeMultiHeadModel(const WorkOptions& options) {
  return std::make_unique<MultiHeadModel>(options);
}

}  // namespace regard
