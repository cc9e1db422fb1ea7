// Nadaraya-Watson regression on known pairs: f(x) = sum_i softmax_i(a(x, x_i))
// y_i. Nadaraya 1964; Watson 1964; parametric when the score a has parameters.
#ifndef ATTENTION_NADARAYA_WATSON_H_
#define ATTENTION_NADARAYA_WATSON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/column_scale.h"
#include "optimization/model.h"

namespace regard {

class Attention;
class NadarayaWatson;

struct CurvePoints {
  std::vector<double> x;  // [points, width]
  std::vector<double> y;  // [points]
  int64_t width = 1;

  int64_t size() const { return static_cast<int64_t>(y.size()); }
};

struct CurveSplits {
  CurvePoints train;
  CurvePoints dev = {};
  CurvePoints test = {};
  // How the model standardises the columns of x, all or none, and y.
  std::vector<ColumnScale> x_scales = {};
  ColumnScale y_scale = {};
};

template <typename T>
class NadarayaWatsonModel : public Model<T> {
 public:
  // `train` are the known pairs; Evaluate() compares predictions with the
  // others, of the same width. `attention` has passed Validate().
  NadarayaWatsonModel(const AttentionRegistry& scorers,
                      const Attention& attention, const NadarayaWatson& options,
                      CurveSplits points, const ModelOptions& model_options);

  ParameterStore<T>& parameters() override { return parameters_; }
  int64_t num_examples() const override { return points_.train.size(); }
  // The squared errors of the examples as queries, in the units of y. What is
  // minimised is these of the standardised y.
  void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<T>> sums) const override;
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  // "mse" of a split that has points, of kTrain each from all others.
  std::vector<EvaluatedSet> Evaluate(Forward<T>& forward,
                                     Split split) const override;

  // f at each row of `x`, [points, width].
  std::vector<double> Predict(Forward<T>& forward,
                              absl::Span<const double> x) const;
  // The weights of f at each row of `x`, [rows, known pairs], for showing them.
  std::vector<double> Weights(Forward<T>& forward,
                              absl::Span<const double> x) const;

  // Of f at one x, [width]: the value itself, standardised if y is. `columns`
  // names known pairs.
  Traced<T> TraceAt(std::vector<double> x,
                    std::vector<std::string> columns) const;

  // As of AttentionLayer. A known pair is at its index, a query at 0.
  int64_t LongestDistance() const { return attention_->LongestDistance(); }

  const CurveSplits& points() const { return points_; }

 private:
  // Queries [1, 1, queries, width] against all known pairs.
  AttendInputs<T> Inputs(Forward<T>& forward, Var<T> queries) const;
  // f at each row of `x`, on the tape of a step that has begun.
  Attended<T> Regress(Forward<T>& forward, absl::Span<const double> x,
                      bool want_weights) const;

  int64_t width() const { return points_.train.width; }
  // Rows of x, [points, width], as the model reads them.
  void Standardize(absl::Span<const double> x, T* standardized) const;

  CurveSplits points_;
  const LossTerm terms_[1];
  std::vector<T> train_x_;
  std::vector<T> train_y_;
  bool leave_one_out_;
  ParameterStore<T> parameters_;
  std::unique_ptr<AttentionLayer<T>> attention_;
};

}  // namespace regard

#endif  // ATTENTION_NADARAYA_WATSON_H_
