#include "attention/nadaraya_watson.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/recompute.h"

namespace regard {

template <typename T>
NadarayaWatsonModel<T>::NadarayaWatsonModel(const AttentionRegistry& scorers,
                                            const Attention& attention,
                                            const NadarayaWatson& options,
                                            CurveSplits points,
                                            const ModelOptions& model_options)
    : Model<T>(model_options.loss, "mse"),
      points_(std::move(points)),
      train_x_(points_.train.x.begin(), points_.train.x.end()),
      train_y_(points_.train.y.begin(), points_.train.y.end()),
      leave_one_out_(options.leave_one_out()) {
  attention_ = std::make_unique<AttentionLayer<T>>(
      scorers, attention, parameters_.Root().Sub("attention"),
      ScoreWidths{.heads = 1, .query = width(), .key = width()});
  if (model_options.finalize) parameters_.Finalize(model_options.seed);
}

template <typename T>
Attended<T> NadarayaWatsonModel<T>::Regress(
    Forward<T>& forward, Var<T> queries,
    absl::Span<const int64_t> hidden) const {
  Tape<T>& tape = forward.tape();
  const int64_t n = num_examples();
  const int64_t weights = queries.dim(2) * n;
  Mask mask;
  if (!hidden.empty()) {
    auto* dense = tape.arena().template New<uint8_t>(weights);
    std::fill_n(dense, weights, uint8_t{1});
    for (size_t i = 0; i < hidden.size(); ++i) {
      dense[static_cast<int64_t>(i) * n + hidden[i]] = 0;
    }
    mask.dense = {dense, static_cast<size_t>(weights)};
  }
  AttendInputs<T> inputs;
  inputs.score.queries = queries;
  inputs.score.keys =
      attention_->Prepare(forward, tape.Constant({1, 1, n, width()}, train_x_),
                          /*key_position=*/0);
  inputs.score.mask = mask;
  if (attention_->uses_history()) {
    // Each query is the first.
    inputs.score.previous_weights = tape.Full({1, 1, queries.dim(2), n}, 0);
    inputs.score.cumulative_weights = inputs.score.previous_weights;
  }
  inputs.values = tape.Constant({1, 1, n, 1}, train_y_);
  return attention_->Attend(forward, inputs);
}

template <typename T>
Var<T> NadarayaWatsonModel<T>::SquaredErrors(
    Forward<T>& forward, absl::Span<const int64_t> examples) const {
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
  const Attended<T> attended =
      Regress(forward, queries,
              leave_one_out_ ? examples : absl::Span<const int64_t>());
  return SquaredError(attended.context, targets);
}

template <typename T>
void NadarayaWatsonModel<T>::Loss(Forward<T>& forward,
                                  absl::Span<const int64_t> examples,
                                  absl::Span<const double>,
                                  absl::Span<Var<T>> sums) const {
  const size_t block = QueriesPerBlock();
  if (examples.size() <= block) {
    sums[0] = SquaredErrors(forward, examples);
    return;
  }
  Tape<T>& tape = forward.tape();
  auto* const kept =
      tape.arena().template New<int64_t>(static_cast<int64_t>(examples.size()));
  std::copy(examples.begin(), examples.end(), kept);
  for (size_t begin = 0; begin < examples.size(); begin += block) {
    const NameScope<T> scope(tape, "block",
                             static_cast<int64_t>(begin / block));
    const absl::Span<const int64_t> part(
        kept + begin, std::min(block, examples.size() - begin));
    const Var<T> errors =
        Recompute<T>(tape, {}, [this, part, forward = &forward](auto) {
          return SquaredErrors(*forward, part);
        });
    sums[0] = begin == 0 ? errors : sums[0] + errors;
  }
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
    const size_t block = QueriesPerBlock();
    for (size_t begin = 0; begin < all.size(); begin += block) {
      forward.BeginStep();
      Var<T> term;
      Loss(forward, absl::MakeConstSpan(all).subspan(begin, block), {},
           absl::MakeSpan(&term, 1));
      sum += static_cast<double>(term.item());
    }
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
size_t NadarayaWatsonModel<T>::QueriesPerBlock() const {
  constexpr size_t kPairs = size_t{1} << 20;
  return std::max<size_t>(kPairs / train_y_.size(), 1);
}

template <typename T>
Attended<T> NadarayaWatsonModel<T>::RegressAt(
    Forward<T>& forward, absl::Span<const double> x) const {
  forward.BeginStep();
  return Compute(forward, x);
}

template <typename T>
Attended<T> NadarayaWatsonModel<T>::Compute(Forward<T>& forward,
                                            absl::Span<const double> x) const {
  Var<T> queries = forward.tape().Constant(
      {1, 1, static_cast<int64_t>(x.size()) / width(), width()});
  std::copy(x.begin(), x.end(), queries.data());
  return Regress(forward, queries, {});
}

template <typename T>
std::vector<double> NadarayaWatsonModel<T>::Predict(
    Forward<T>& forward, absl::Span<const double> x) const {
  std::vector<double> y;
  const size_t block = QueriesPerBlock() * static_cast<size_t>(width());
  for (size_t begin = 0; begin < x.size(); begin += block) {
    const Attended<T> attended = RegressAt(forward, x.subspan(begin, block));
    y.insert(y.end(), attended.context.span().begin(),
             attended.context.span().end());
  }
  return y;
}

template <typename T>
std::vector<double> NadarayaWatsonModel<T>::Weights(
    Forward<T>& forward, absl::Span<const double> x) const {
  const Attended<T> attended = RegressAt(forward, x);
  return {attended.weights.span().begin(), attended.weights.span().end()};
}

template <typename T>
Traced<T> NadarayaWatsonModel<T>::TraceAt(
    std::vector<double> x, std::vector<std::string> columns) const {
  Traced<T> traced;
  TraceLabels& labels = traced.labels;
  labels.input = absl::StrJoin(x, " ");
  labels.sequences = {{.name = "query", .labels = {labels.input}},
                      {.name = "training points", .labels = columns}};
  labels.sites = {{"*", 0, 1}};
  labels.outputs = {{.name = "value", .position = 0}};
  labels.output_unit = "value";
  labels.alignment = "*attention/weights";
  labels.inputs = {"*attention/queries"};
  traced.pass = [this, x = std::move(x)](Forward<T>& forward) {
    return Compute(forward, x).context.WithShape({1});
  };
  return traced;
}

REGARD_INSTANTIATE_CLASS(NadarayaWatsonModel);

}  // namespace regard
