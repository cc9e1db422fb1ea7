#include "attention/checks/scoring_problem.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attention/attention.pb.h"
#include "attention/checks/config_choice.h"
#include "attention/checks/tape_state.h"
#include "autodiff/fault_finder.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

using ::google::protobuf::Message;

TestArray RandomArray(const Shape& shape, const std::string& purpose) {
  const RandomStream random(1, purpose);
  TestArray array = {shape, std::vector<double>(shape.size())};
  for (size_t i = 0; i < array.values.size(); ++i) {
    array.values[i] = 2 * random.UniformAt(i) - 1;
  }
  return array;
}

TestArray Take(const TestArray& array, int axis,
               absl::Span<const int64_t> indices) {
  int64_t outer = 1;
  int64_t inner = 1;
  std::vector<int64_t> extents;
  for (int i = 0; i < array.shape.rank(); ++i) {
    const int64_t extent = array.shape[i];
    if (i < axis) outer *= extent;
    if (i > axis) inner *= extent;
    extents.push_back(i == axis ? static_cast<int64_t>(indices.size())
                                : extent);
  }
  TestArray taken = {Shape(extents), {}};
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices) {
      const auto from =
          array.values.begin() + (o * array.shape[axis] + index) * inner;
      taken.values.insert(taken.values.end(), from, from + inner);
    }
  }
  return taken;
}

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> range(end - begin);
  std::iota(range.begin(), range.end(), begin);
  return range;
}

namespace {

TestArray TakeIfAny(const TestArray& array, int axis,
                    absl::Span<const int64_t> indices) {
  return array.shape.rank() == 0 ? array : Take(array, axis, indices);
}

}  // namespace

ScoringProblem ScoringProblem::Random(int64_t batch, int64_t queries,
                                      int64_t keys, const ScoreWidths& widths) {
  constexpr int64_t kValueWidth = 3;
  const int64_t heads = widths.heads;
  ScoringProblem problem;
  problem.queries =
      RandomArray({batch, heads, queries, widths.query}, "queries");
  problem.keys = RandomArray({batch, heads, keys, widths.key}, "keys");
  problem.values = RandomArray({batch, heads, keys, kValueWidth}, "values");
  problem.previous = RandomArray({batch, heads, queries, keys}, "previous");
  problem.cumulative = RandomArray({batch, heads, queries, keys}, "cumulative");
  if (widths.query_input > 0) {
    problem.query_x =
        RandomArray({batch, queries, widths.query_input}, "query input");
  }
  if (widths.key_input > 0) {
    problem.key_x = RandomArray({batch, keys, widths.key_input}, "key input");
  }
  for (double& weight : problem.previous.values) weight = (weight + 1) / 2;
  for (double& weight : problem.cumulative.values) weight += 1;
  return problem;
}

ScoringProblem ScoringProblem::TakeExamplesWithoutMask(
    absl::Span<const int64_t> indices) const {
  ScoringProblem taken;
  taken.queries = Take(queries, 0, indices);
  taken.keys = Take(keys, 0, indices);
  taken.values = Take(values, 0, indices);
  taken.previous = Take(previous, 0, indices);
  taken.cumulative = Take(cumulative, 0, indices);
  taken.query_x = TakeIfAny(query_x, 0, indices);
  taken.key_x = TakeIfAny(key_x, 0, indices);
  return taken;
}

ScoringProblem ScoringProblem::TakeQueriesWithoutMask(
    absl::Span<const int64_t> indices) const {
  ScoringProblem taken;
  taken.queries = Take(queries, 2, indices);
  taken.keys = keys;
  taken.values = values;
  taken.previous = Take(previous, 2, indices);
  taken.cumulative = Take(cumulative, 2, indices);
  taken.query_x = TakeIfAny(query_x, 1, indices);
  taken.key_x = key_x;
  return taken;
}

ScoringProblem ScoringProblem::TakeKeysWithoutMask(
    absl::Span<const int64_t> indices) const {
  ScoringProblem taken;
  taken.queries = queries;
  taken.keys = Take(keys, 2, indices);
  taken.values = Take(values, 2, indices);
  taken.previous = Take(previous, 3, indices);
  taken.cumulative = Take(cumulative, 3, indices);
  taken.query_x = query_x;
  taken.key_x = TakeIfAny(key_x, 1, indices);
  return taken;
}

Attention ConfigFor(const Message& options) {
  return ConfigWithChoice<Attention>(options);
}

namespace {

template <typename T>
std::vector<T> Cast(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
TestArray Copy(const T* values, const Shape& shape) {
  TestArray copy = {shape, std::vector<double>(shape.size(), 0)};
  if (values != nullptr) {
    std::copy_n(values, shape.size(), copy.values.begin());
  }
  return copy;
}

template <typename T>
TestArray CopyOf(Var<T> x) {
  return Copy(x.data(), x.shape());
}

template <typename T>
TestArray GradientOf(Var<T> x) {
  return Copy(x.grad_data(), x.shape());
}

// Sets the gradient of x to fixed random numbers, the weights of a random
// projection.
template <typename T>
void Project(Var<T> x, const std::string& purpose) {
  // All examples have the same projection, so that the size of the batch has no
  // effect.
  const TestArray row = RandomArray({x.size() / x.dim(0)}, purpose);
  const int64_t n = row.shape.size();
  if (auto d = x.grad_ref()) {
    d.AddEach([&](int64_t i) { return static_cast<T>(row.values[i % n]); });
  }
}

}  // namespace

template <typename T>
ScorerUnderTest<T>::ScorerUnderTest(const AttentionRegistry& registry,
                                    const Attention& config,
                                    const ScoreWidths& widths, uint64_t seed) {
  ScoreWidths with_slots = widths;
  const SlotScope slots(slots_, "attention");
  with_slots.slots = &slots;
  attention_ = std::make_unique<AttentionLayer<T>>(registry, config,
                                                   store_.Root(), with_slots);
  store_.Finalize(seed);
  const SlotScope scorer_slots(scorer_slots_, "score");
  with_slots.slots = &scorer_slots;
  scorer_ = registry.Create<T>(config, scorer_store_.Root(), with_slots);
  scorer_store_.Finalize(seed);
  // Adds noise, because a parameter that starts at zero could hide the
  // gradients of other parameters.
  for (const ParameterInfo& info : store_.parameters()) {
    const RandomStream random(seed, info.name);
    const auto values = store_.value(*store_.FindByName(info.name));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<T>(random.UniformAt(i) - 0.5);
    }
  }
  gradients_ = std::make_unique<GradientSlab<T>>(store_);
  forward_ = std::make_unique<Forward<T>>(tape_, store_, gradients_.get());
  scorer_forward_ = std::make_unique<Forward<T>>(
      tape_, std::as_const(scorer_store_), nullptr);
}

template <typename T>
Forward<T>& ScorerUnderTest<T>::BeginScorerStep() {
  for (const ParameterInfo& info : scorer_store_.parameters()) {
    const auto from = store_.value(*store_.FindByName(info.name));
    const auto to = scorer_store_.value(*scorer_store_.FindByName(info.name));
    std::copy(from.begin(), from.end(), to.begin());
  }
  scorer_forward_->BeginStep();
  return *scorer_forward_;
}

template <typename T>
Var<T> ScorerUnderTest<T>::Input(const TestArray& array) {
  return tape_.Input(array.shape, Cast<T>(array.values));
}

template <typename T>
ScoreInputs<T> ScorerUnderTest<T>::Inputs(const ScoringProblem& problem) {
  ScoreInputs<T> in;
  in.queries = Input(problem.queries);
  if (problem.query_x.shape.rank() > 0) in.x = Input(problem.query_x);
  in.mask = problem.mask();
  in.positions = problem.positions;
  if (attention_->uses_history() && problem.previous.shape.rank() > 0) {
    in.previous_weights = Input(problem.previous);
    in.cumulative_weights = Input(problem.cumulative);
  }
  return in;
}

template <typename T>
PrepareInputs<T> ScorerUnderTest<T>::KeyInputs(const ScoringProblem& problem) {
  PrepareInputs<T> in;
  in.keys = Input(problem.keys);
  in.key_position = problem.positions.first_key;
  if (problem.key_x.shape.rank() > 0) in.x = Input(problem.key_x);
  return in;
}

template <typename T>
ScoringResult ScorerUnderTest<T>::Compute(const ScoringProblem& problem,
                                          Wanted wanted) {
  forward_->BeginStep();
  AttendInputs<T> inputs;
  inputs.score = Inputs(problem);
  inputs.values = Input(problem.values);
  inputs.context_only = !wanted.want_weights;
  const PrepareInputs<T> keys = KeyInputs(problem);
  inputs.score.keys = attention_->Prepare(*forward_, keys);
  const AttentionResult<T> attended = attention_->Attend(*forward_, inputs);
  Project(attended.context, "projection of the context");
  if (wanted.project_weights) {
    Project(attended.weights, "projection of the weights");
  }
  forward_->Backward({}, {});

  ScoringResult result;
  result.context = CopyOf(attended.context);
  if (wanted.want_weights) result.weights = CopyOf(attended.weights);
  result.d_queries = GradientOf(inputs.score.queries);
  result.d_keys = GradientOf(keys.keys);
  result.d_values = GradientOf(inputs.values);
  if (inputs.score.x.has_value()) result.d_query_x = GradientOf(inputs.score.x);
  if (keys.x.has_value()) result.d_key_x = GradientOf(keys.x);
  for (const ParameterInfo& info : store_.parameters()) {
    result.d_parameters[info.name] =
        Copy(store_.Segment(gradients_->values(), *store_.FindByName(info.name))
                 .data(),
             info.shape);
  }
  return result;
}

template <typename T>
std::string ScorerUnderTest<T>::FindNanOrInfinity(
    const ScoringProblem& problem) {
  FaultFinder<T> finder(tape_);
  Compute(problem);
  return finder.fault();
}

template <typename T>
bool ScorerUnderTest<T>::HasInnerForm(const ScoringProblem& problem) {
  Forward<T>& forward = BeginScorerStep();
  ScoreInputs<T> in = Inputs(problem);
  in.keys = scorer_->Prepare(forward, KeyInputs(problem));
  return scorer_->Inner(forward, in).has_value();
}

template <typename T>
TestArray ScorerUnderTest<T>::Scores(const ScoringProblem& problem) {
  Forward<T>& forward = BeginScorerStep();
  ScoreInputs<T> in = Inputs(problem);
  in.keys = scorer_->Prepare(forward, KeyInputs(problem));
  return CopyOf(scorer_->Score(forward, in));
}

template <typename T>
TestArray ScorerUnderTest<T>::ScoresOfPart(const ScoringProblem& problem,
                                           absl::Span<const int64_t> queries,
                                           absl::Span<const int64_t> keys) {
  Forward<T>& forward = BeginScorerStep();
  ScoreInputs<T> in = Inputs(problem.TakeQueriesWithoutMask(queries));
  in.positions = problem.positions;
  in.positions.first_query += queries[0];
  in.positions.first_key += keys[0];
  in.keys = Slice(scorer_->Prepare(forward, KeyInputs(problem)), /*axis=*/2,
                  keys[0], static_cast<int64_t>(keys.size()));
  return CopyOf(scorer_->Score(forward, in));
}

template <typename T>
TestArray ScorerUnderTest<T>::PrepareKeysInParts(
    const ScoringProblem& problem, absl::Span<const int64_t> parts) {
  Forward<T>& forward = BeginScorerStep();
  if (parts.empty()) {
    return CopyOf(scorer_->Prepare(forward, KeyInputs(problem)));
  }
  TapeLayerState<T> state(scorer_slots_);
  std::vector<Var<T>> prepared;
  int64_t begin = 0;
  for (const int64_t count : parts) {
    PrepareInputs<T> in =
        KeyInputs(problem.TakeKeysWithoutMask(Range(begin, begin + count)));
    in.key_position = problem.positions.first_key + begin;
    in.state = &state;
    prepared.push_back(scorer_->Prepare(forward, in));
    begin += count;
  }
  return CopyOf(Concat<T>(prepared, /*axis=*/2));
}

template <typename T>
ScoringResult ScorerUnderTest<T>::ComputeContextStepwise(
    const ScoringProblem& problem, bool want_weights) {
  forward_->BeginStep();
  const int64_t steps = problem.queries.shape[2];
  TapeLayerState<T> state(slots_);
  std::vector<Var<T>> prepared;
  std::vector<Var<T>> contexts;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t now[] = {i};
    const ScoringProblem step = problem.TakeKeysWithoutMask(Range(0, i + 1))
                                    .TakeQueriesWithoutMask(now);
    PrepareInputs<T> keys = KeyInputs(problem.TakeKeysWithoutMask(now));
    keys.key_position = i;
    keys.state = &state;
    prepared.push_back(attention_->Prepare(*forward_, keys));
    AttendInputs<T> inputs;
    inputs.score = Inputs(step);
    inputs.score.state = &state;
    inputs.score.keys = Concat<T>(prepared, /*axis=*/2);
    inputs.score.positions.first_query = i;
    inputs.score.mask.causal = true;
    inputs.context_only = !want_weights;
    inputs.values = Input(step.values);
    const AttentionResult<T> attended = attention_->Attend(*forward_, inputs);
    contexts.push_back(attended.context);
  }
  ScoringResult result;
  result.context = CopyOf(Concat<T>(contexts, /*axis=*/2));
  return result;
}

template class ScorerUnderTest<float>;
template class ScorerUnderTest<double>;

}  // namespace regard
