// Nadaraya-Watson regression. The prediction for a query x is the mean of the
// known values y_i, weighted by attention to the known points x_i.
//
//   f(x) = sum_i softmax_i(a(x, x_i)) y_i
//
// Nadaraya, 1964; Watson, 1964. The regression is parametric if the score a has
// parameters.
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
  // `x_scales` standardize the columns of x. The vector is empty or has a scale
  // for each column. `y_scale` standardizes y.
  std::vector<ColumnScale> x_scales = {};
  ColumnScale y_scale = {};
};

template <typename T>
class NadarayaWatsonModel : public Model<T> {
 public:
  // The points of `train` are the known points. Evaluate() predicts the points
  // of the other splits, which have the same width. `attention` must have
  // passed AttentionRegistry::Validate().
  NadarayaWatsonModel(const AttentionRegistry& scorers,
                      const Attention& attention, const NadarayaWatson& options,
                      CurveSplits points, const ModelOptions& model_options);

  ParameterStore<T>& parameters() override { return parameters_; }
  int64_t num_examples() const override { return points_.train.size(); }
  // Sets sums[0] to the sum of the squared errors of the examples, in the
  // squared unit of y. Training minimizes the squared errors of the
  // standardized y.
  void Loss(Forward<T>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<T>> sums) const override;
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  // Returns "mse" for the split, or nothing if the split is empty. With
  // leave_one_out, each point of kTrain is predicted from all other points.
  std::vector<EvaluatedSet> Evaluate(Forward<T>& forward,
                                     Split split) const override;

  // Predictions for each row of `x` [points, width].
  std::vector<double> Predict(Forward<T>& forward,
                              absl::Span<const double> x) const;
  // Returns the attention weights [rows, known points] for each row of `x`
  // [rows, width]. Used for plots.
  std::vector<double> Weights(Forward<T>& forward,
                              absl::Span<const double> x) const;

  // Traces the prediction for one x [width]. If y is standardized, the output
  // is the standardized y. `columns` names the known points.
  TraceablePrediction<T> TraceAtPoint(std::vector<double> x,
                                      std::vector<std::string> columns) const;

  // See AttentionLayer::MaxDistance(). The position of a known point is its
  // index, and every query is at position 0.
  int64_t MaxDistance() const { return attention_->MaxDistance(); }

  const CurveSplits& points() const { return points_; }

 private:
  // The inputs for attention of queries [1, 1, queries, width] to all known
  // points.
  AttendInputs<T> Inputs(Forward<T>& forward, Var<T> queries) const;
  // Predictions for each row of `x`, on the tape of a step that has begun.
  AttentionResult<T> Regress(Forward<T>& forward, absl::Span<const double> x,
                             bool want_weights) const;

  int64_t width() const { return points_.train.width; }
  // Writes the rows of x [points, width] to `standardized`, standardized by
  // x_scales unless x_scales is empty.
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
