// Nadaraya-Watson regression on known pairs: f(x) = sum_i softmax_i(a(x, x_i))
// y_i. Nadaraya 1964; Watson 1964; parametric when the score a has parameters.
#ifndef ATTENTION_NADARAYA_WATSON_H_
#define ATTENTION_NADARAYA_WATSON_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/nadaraya_watson.pb.h"
#include "nn/model.h"

namespace regard {

// Points of a curve, in order of x.
struct CurvePoints {
  std::vector<double> x;
  std::vector<double> y;
};

template <typename T>
class NadarayaWatsonModel : public Model<T> {
 public:
  // `train` are the known pairs; Evaluate() compares predictions with `test`,
  // which has no noise. `attention` has passed Validate().
  NadarayaWatsonModel(const AttentionRegistry& scorers,
                      const Attention& attention, const NadarayaWatson& options,
                      CurvePoints train, CurvePoints test,
                      const ModelOptions& model_options);

  ParameterStore<T>& parameters() override { return parameters_; }
  int64_t num_examples() const override {
    return static_cast<int64_t>(train_.x.size());
  }
  int64_t CountWork(absl::Span<const int64_t> examples) const override {
    return static_cast<int64_t>(examples.size());
  }
  // The squared errors of the examples as queries. Large batches are computed
  // in blocks, and again in the backward pass, so that memory stays bounded.
  void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<T>> sums) const override;
  // "mse" on kTrain (each point from all others) and kTest. As Predict(), it
  // takes queries in blocks, so memory grows with their number plus that of the
  // known pairs, not with the product.
  std::vector<EvaluatedSet> Evaluate(Forward<T>& forward,
                                     Split split) const override;

  // f at each of `x`.
  std::vector<double> Predict(Forward<T>& forward,
                              absl::Span<const double> x) const;
  // The weights of f at each of `x`, [x, known pairs], for showing them.
  std::vector<double> Weights(Forward<T>& forward,
                              absl::Span<const double> x) const;

  // As of AttentionLayer: points count as positions.
  int64_t LongestDistance() const { return attention_->LongestDistance(); }

  const CurvePoints& train() const { return train_; }
  const CurvePoints& test() const { return test_; }

 private:
  // Queries [1, 1, queries, 1] against all known pairs. Query i does not see
  // pair hidden[i], unless `hidden` is empty.
  Attended<T> Regress(Forward<T>& forward, Var<T> queries,
                      absl::Span<const int64_t> hidden) const;
  // f at each of `x` in one step, with its weights.
  Attended<T> RegressAt(Forward<T>& forward, absl::Span<const double> x) const;
  // Their sum, of training points.
  Var<T> SquaredErrors(Forward<T>& forward,
                       absl::Span<const int64_t> examples) const;
  // Queries whose scores with all known pairs are computed at once.
  size_t QueriesPerBlock() const;

  CurvePoints train_;
  CurvePoints test_;
  std::vector<T> train_x_;
  std::vector<T> train_y_;
  bool leave_one_out_;
  ParameterStore<T> parameters_;
  std::unique_ptr<AttentionLayer<T>> attention_;
};

}  // namespace regard

#endif  // ATTENTION_NADARAYA_WATSON_H_
