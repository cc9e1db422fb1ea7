// Nadaraya-Watson regression: f(x) = sum_i softmax_i(a(x, x_i)) y_i, the value
// at x is the mean of the known values, weighted by attention to their places.
// Nadaraya 1964; Watson 1964; parametric when the score a has parameters.
#ifndef ATTENTION_NADARAYA_WATSON_H_
#define ATTENTION_NADARAYA_WATSON_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/nadaraya_watson.pb.h"
#include "attention/scorer_registry.h"
#include "nn/model.h"

namespace regard {

// CurvePoints of a curve, in order of x.
struct CurvePoints {
  std::vector<double> x;
  std::vector<double> y;
};

template <typename T>
class NadarayaWatsonModel : public Model<T> {
 public:
  struct Prediction {
    std::vector<double> y;        // one per query
    std::vector<double> weights;  // [queries, training points]
  };

  // `train` are the known pairs; `test`, without noise, is what Evaluate()
  // compares with. `attention` has passed Validate(). `per_example` divides the
  // loss by the number of examples.
  NadarayaWatsonModel(const ScorerRegistry& scorers, const Attention& attention,
                      const NadarayaWatson& options, CurvePoints train,
                      CurvePoints test, bool per_example, double scale,
                      uint64_t seed);

  ParameterStore<T>& parameters() override { return parameters_; }
  int64_t num_examples() const override {
    return static_cast<int64_t>(train_.x.size());
  }
  int64_t CountWork(absl::Span<const int64_t> examples) const override {
    return static_cast<int64_t>(examples.size());
  }
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  void Denominators(absl::Span<const int64_t> examples,
                    absl::Span<double> denominators) const override;
  // The squared errors of the examples as queries.
  void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<T>> sums) const override;
  // "mse" on kTrain (each point by all others) and kTest.
  void Evaluate(Forward<T>& forward, Split split,
                std::vector<Measurement>* measurements) const override;

  // f at each of `x`.
  Prediction Predict(Forward<T>& forward, absl::Span<const double> x) const;

  const CurvePoints& train() const { return train_; }
  const CurvePoints& test() const { return test_; }

 private:
  // Queries x of [1, 1, queries, 1] against all known pairs; query i may not
  // see pair hidden[i], where `hidden` is not empty.
  Attended<T> Regress(Forward<T>& forward, Var<T> queries,
                      absl::Span<const int64_t> hidden) const;

  CurvePoints train_;
  CurvePoints test_;
  std::vector<T> train_x_;
  std::vector<T> train_y_;
  bool leave_one_out_;
  bool per_example_;
  LossTerm terms_[1];
  ParameterStore<T> parameters_;
  std::unique_ptr<Attender<T>> attender_;
};

extern template class NadarayaWatsonModel<float>;
extern template class NadarayaWatsonModel<double>;

}  // namespace regard

#endif  // ATTENTION_NADARAYA_WATSON_H_
