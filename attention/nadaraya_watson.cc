#include "attention/nadaraya_watson.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attention/attention.pb.h"
#include "attention/nadaraya_watson.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/loss.h"
#include "files/number_text.h"

namespace regard {

template <typename T>
NadarayaWatsonModel<T>::NadarayaWatsonModel(const AttentionRegistry& scorers,
                                            const Attention& attention,
                                            const NadarayaWatson& options,
                                            CurveSplits points,
                                            const ModelOptions& model_options)
    : Model<T>(model_options.loss, "mse"),
      points_(std::move(points)),
      terms_{{"mse", model_options.loss.scale / points_.y_scale.deviation /
                         points_.y_scale.deviation}},
      train_x_(points_.train.x.size()),
      leave_one_out_(options.leave_one_out()) {
  Standardize(points_.train.x, train_x_.data());
  for (const double y : points_.train.y) {
    train_y_.push_back(static_cast<T>(points_.y_scale.Standardize(y)));
  }
  attention_ = std::make_unique<AttentionLayer<T>>(
      scorers, attention, parameters_.Root().Sub("attention"),
      ScoreWidths{.heads = 1, .query = width(), .key = width()});
  if (model_options.finalize) parameters_.Finalize(model_options.seed);
}

template <typename T>
void NadarayaWatsonModel<T>::Standardize(absl::Span<const double> x,
                                         T* standardized) const {
  const std::vector<ColumnScale>& scales = points_.x_scales;
  for (size_t i = 0; i < x.size(); ++i) {
    standardized[i] = static_cast<T>(
        scales.empty() ? x[i] : scales[i % scales.size()].Standardize(x[i]));
  }
}

template <typename T>
AttendInputs<T> NadarayaWatsonModel<T>::Inputs(Forward<T>& forward,
                                               Var<T> queries) const {
  Tape<T>& tape = forward.tape();
  const int64_t n = num_examples();
  AttendInputs<T> inputs;
  inputs.score.queries = queries;
  inputs.score.keys = attention_->Prepare(
      forward, {.keys = tape.Constant({1, 1, n, width()}, train_x_)});
  inputs.values = tape.Constant({1, 1, n, 1}, train_y_);
  // All queries are at position 0, so that their order and number do not
  // matter.
  inputs.score.positions.query_step = 0;
  return inputs;
}

template <typename T>
void NadarayaWatsonModel<T>::Loss(Forward<T>& forward,
                                  absl::Span<const int64_t> examples,
                                  absl::Span<const double>,
                                  absl::Span<Var<T>> sums) const {
  Tape<T>& tape = forward.tape();
  const int64_t n = static_cast<int64_t>(examples.size());
  Var<T> queries = tape.Constant({1, 1, n, width()});
  Var<T> targets = tape.Constant({1, 1, n, 1});
  const int64_t columns = width();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      queries.data()[i * columns + c] = train_x_[examples[i] * columns + c];
    }
    targets.data()[i] = train_y_[examples[i]];
  }
  AttendInputs<T> inputs = Inputs(forward, queries);
  inputs.context_only = true;
  if (leave_one_out_) {
    auto* const own = tape.arena().template New<int64_t>(n);
    std::copy(examples.begin(), examples.end(), own);
    inputs.score.mask.excluded = {own, examples.size()};
  }
  sums[0] = SquaredError(attention_->Attend(forward, inputs).context, targets);
  const double deviation = points_.y_scale.deviation;
  if (deviation != 1) sums[0] = sums[0] * static_cast<T>(deviation * deviation);
}

template <typename T>
std::vector<EvaluatedSet> NadarayaWatsonModel<T>::Evaluate(Forward<T>& forward,
                                                           Split split) const {
  const CurvePoints& points = split == Split::kTrain ? points_.train
                              : split == Split::kDev ? points_.dev
                                                     : points_.test;
  if (points.size() == 0) return {};
  double sum = 0;
  if (split == Split::kTrain) {
    std::vector<int64_t> all(train_y_.size());
    std::iota(all.begin(), all.end(), 0);
    forward.BeginStep();
    Var<T> term;
    Loss(forward, all, {}, absl::MakeSpan(&term, 1));
    sum = static_cast<double>(term.item());
  } else {
    const std::vector<double> y = Predict(forward, points.x);
    for (size_t i = 0; i < y.size(); ++i) {
      const double error = y[i] - points.y[i];
      sum += error * error;
    }
  }
  return {{.totals = {{"mse", sum / static_cast<double>(points.size())}}}};
}

template <typename T>
AttentionResult<T> NadarayaWatsonModel<T>::Regress(Forward<T>& forward,
                                                   absl::Span<const double> x,
                                                   bool want_weights) const {
  Var<T> queries = forward.tape().Constant(
      {1, 1, static_cast<int64_t>(x.size()) / width(), width()});
  Standardize(x, queries.data());
  AttendInputs<T> inputs = Inputs(forward, queries);
  inputs.context_only = !want_weights;
  return attention_->Attend(forward, inputs);
}

template <typename T>
std::vector<double> NadarayaWatsonModel<T>::Predict(
    Forward<T>& forward, absl::Span<const double> x) const {
  forward.BeginStep();
  const Var<T> standardized =
      Regress(forward, x, /*want_weights=*/false).context;
  std::vector<double> y;
  for (const T value : standardized.span()) {
    y.push_back(points_.y_scale.Restore(static_cast<double>(value)));
  }
  return y;
}

template <typename T>
std::vector<double> NadarayaWatsonModel<T>::Weights(
    Forward<T>& forward, absl::Span<const double> x) const {
  forward.BeginStep();
  const Var<T> weights = Regress(forward, x, /*want_weights=*/true).weights;
  return {weights.span().begin(), weights.span().end()};
}

template <typename T>
TraceablePrediction<T> NadarayaWatsonModel<T>::TraceAtPoint(
    std::vector<double> x, std::vector<std::string> columns) const {
  TraceablePrediction<T> traced;
  TraceDescription& labels = traced.labels;
  labels.input = absl::StrJoin(x, " ", [](std::string* text, double number) {
    absl::StrAppend(text, NumberText(number));
  });
  labels.sequences = {{.name = "query", .labels = {labels.input}},
                      {.name = "training points", .labels = columns}};
  labels.sites = {{"*", 0, 1}};
  labels.outputs = {{.name = "value", .position = 0}};
  labels.output_unit = points_.y_scale == ColumnScale()
                           ? "value"
                           : "value in standard deviations from the mean";
  labels.alignment = "*attention/weights";
  labels.inputs = {"*attention/queries"};
  traced.pass = [this, x = std::move(x)](Forward<T>& forward) {
    return Regress(forward, x, /*want_weights=*/false).context.Reshape({1});
  };
  return traced;
}

REGARD_INSTANTIATE_CLASS(NadarayaWatsonModel);

}  // namespace regard
