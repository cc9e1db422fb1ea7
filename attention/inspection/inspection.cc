#include "attention/inspection/inspection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/inspection/attention_rollout.h"
#include "autodiff/instantiate.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr char kContexts[] = "*attention/context";

// Runs a pass with `recorder` and computes the gradients of the chosen output.
template <typename T>
Var<T> Run(Forward<T>& forward, const TraceablePrediction<T>& traced,
           int64_t chosen, SiteValueRecorder<T>* recorder) {
  forward.BeginStep();
  const ScopedExtraHook<T> watch(forward, recorder);
  const Var<T> outputs = traced.pass(forward);
  if (!outputs.has_value()) return outputs;
  const Var<T> scalar = ChosenOutput(outputs, chosen);
  if (scalar.needs_grad()) forward.tape().Backward(scalar);
  return outputs;
}

// Copies row `query` of the gradients of each head.
template <typename T>
void CopyRow(const AttentionMap<T>& from, int64_t query, AttentionMap<T>* to) {
  if (from.gradients.empty()) return;
  const int64_t queries = to->shape[2];
  const int64_t keys = to->shape[3];
  REGARD_CHECK(from.shape == to->shape) << from.shape << ", " << to->shape;
  REGARD_CHECK(query < queries) << "query " << query << " of " << queries;
  for (int64_t head = 0; head < to->shape[1]; ++head) {
    const int64_t at = (head * queries + query) * keys;
    std::copy_n(from.gradients.begin() + at, keys, to->gradients.begin() + at);
  }
}

// Fills the gradients of the maps whose queries write outputs. Row t gets the
// gradient of the output that position t writes.
template <typename T>
void AddRowGradients(Forward<T>& forward, const TraceablePrediction<T>& traced,
                     std::vector<AttentionMap<T>>* maps) {
  const TraceDescription& labels = traced.labels;
  const auto writes = [&](const AttentionMap<T>& map) {
    return labels.QueriesWriteOutputs(map.site);
  };
  if (std::none_of(maps->begin(), maps->end(), writes)) return;
  for (AttentionMap<T>& map : *maps) {
    if (writes(map)) map.gradients.assign(map.weights.size(), T(0));
  }
  for (size_t i = 0; i < labels.outputs.size(); ++i) {
    SiteValueRecorder<T> recorder({kAllMaps}, {kAllMaps});
    Run(forward, traced, static_cast<int64_t>(i), &recorder);
    const std::vector<AttentionMap<T>> of_output = AttentionMaps(recorder);
    for (size_t m = 0; m < maps->size(); ++m) {
      if (!writes((*maps)[m])) continue;
      CopyRow(of_output.at(m), labels.outputs[i].position, &(*maps)[m]);
    }
  }
}

// Adds the importance of the heads at one visited hook point. The importance
// from all steps of a recurrent decoder is added to the same element of `all`.
template <typename T>
void AddImportance(const typename SiteValueRecorder<T>::Seen& seen,
                   std::vector<LayerHeadImportances>* all) {
  if (seen.gradient.empty()) return;
  const std::string site = AllStepsPattern(seen.site);
  auto found = std::find_if(all->begin(), all->end(),
                            [&](const auto& of) { return of.site == site; });
  const auto heads = static_cast<size_t>(seen.shape[1]);
  if (found == all->end()) {
    all->push_back({site, std::vector<double>(heads, 0)});
    found = all->end() - 1;
  }
  const size_t size = seen.value.size() / heads;
  for (size_t i = 0; i < seen.value.size(); ++i) {
    found->heads[i / size] += static_cast<double>(seen.value[i]) *
                              static_cast<double>(seen.gradient[i]);
  }
}

template <typename T>
InputGradientNorms NormsOf(const typename SiteValueRecorder<T>::Seen& seen,
                           const TraceDescription& labels) {
  const int rank = seen.shape.rank();
  const auto positions = static_cast<size_t>(seen.shape[rank - 2]);
  InputGradientNorms inputs = {
      seen.site, labels.QueryLabels(seen.site, static_cast<int64_t>(positions)),
      std::vector<double>(positions, 0)};
  const size_t size = seen.gradient.size() / positions;
  for (size_t i = 0; i < seen.gradient.size(); ++i) {
    const auto gradient = static_cast<double>(seen.gradient[i]);
    inputs.norms[i / size] += gradient * gradient;
  }
  for (double& norm : inputs.norms) norm = std::sqrt(norm);
  return inputs;
}

template <typename T>
bool HasNegativeWeights(const std::vector<AttentionMap<T>>& maps) {
  return std::ranges::any_of(maps, [](const AttentionMap<T>& map) {
    return std::ranges::any_of(map.weights, [](T w) { return w < 0; });
  });
}

// Returns the rollout of self-attention for each stack, in the order of the
// pass. Adds a note for each stack that has no rollout.
template <typename T>
std::vector<Rollout> RolloutsOf(const std::vector<AttentionMap<T>>& maps,
                                TraceDescription& labels) {
  std::vector<std::string> stacks;
  std::map<std::string, std::vector<AttentionMap<T>>> layers;
  for (const AttentionMap<T>& map : maps) {
    if (map.over_memory || map.shape[2] != map.shape[3]) continue;
    if (layers[map.stack].empty()) stacks.push_back(map.stack);
    layers[map.stack].push_back(map);
  }
  std::vector<Rollout> rollouts;
  for (const std::string& stack : stacks) {
    if (HasNegativeWeights(layers[stack])) {
      labels.notes.push_back(absl::StrCat(
          stack, " has no rollout, because some of its weights are below 0"));
      continue;
    }
    const std::string& site = layers[stack][0].site;
    const int64_t tokens = layers[stack][0].shape[3];
    rollouts.push_back({stack, site, labels.QueryLabels(site, tokens),
                        labels.KeyLabels(site, tokens),
                        AttentionRollout<T>(layers[stack], /*example=*/0)});
  }
  return rollouts;
}

// Returns the prefix that identifies the layer of a hook point, such as
// "decoder/layers[0".
absl::string_view LayerOf(absl::string_view site) {
  return site.substr(0, site.rfind(']'));
}

template <typename T>
LogitLensLayer LookThrough(const LogitLensSpec<T>& lens, Forward<T>& forward,
                           const typename SiteValueRecorder<T>::Seen& seen,
                           size_t most_choices) {
  Hook<T>* const hook = forward.hook();
  forward.set_hook(nullptr);
  forward.BeginStep();
  const Var<T> rows = lens.log_probabilities(
      forward, forward.tape().Constant(seen.shape, seen.value));
  forward.set_hook(hook);
  REGARD_CHECK_EQ(rows.rows(), static_cast<int64_t>(lens.rows.size()));
  LogitLensLayer layer = {seen.site, {}};
  for (int64_t row = 0; row < rows.rows(); ++row) {
    const T* const first = rows.data() + row * rows.cols();
    const std::vector<float> numbers(first, first + rows.cols());
    layer.rows.push_back(RankedChoices(numbers, most_choices, lens.name));
  }
  return layer;
}

}  // namespace

template <typename T>
double Inspection<T>::ChosenOutputValue() const {
  return chosen >= 0 ? outputs.at(static_cast<size_t>(chosen))
                     : std::accumulate(outputs.begin(), outputs.end(), 0.0);
}

template <typename T>
const AttentionMap<T>* Inspection<T>::AlignmentMap() const {
  const AttentionMap<T>* found = nullptr;
  for (const AttentionMap<T>& map : maps) {
    if (MatchesSite(labels.alignment, map.site)) found = &map;
  }
  return found;
}

template <typename T>
std::vector<double> Inspection<T>::AlignmentWeights() const {
  const AttentionMap<T>* const map = AlignmentMap();
  if (map == nullptr) return {};
  std::vector<T> mean(static_cast<size_t>(map->shape[2] * map->shape[3]));
  CopyHead(map->shape, map->weights.data(), labels.alignment_head, mean.data());
  return {mean.begin(), mean.end()};
}

double Entropy(absl::Span<const double> weights) {
  double sum = 0;
  for (const double weight : weights) sum += std::abs(weight);
  double entropy = 0;
  for (const double weight : weights) {
    const double share = std::abs(weight) / sum;
    if (share > 0) entropy -= share * std::log(share);
  }
  return entropy;
}

template <typename T>
Var<T> ChosenOutput(Var<T> outputs, int64_t chosen) {
  return chosen == kAllOutputs ? Sum(outputs)
                               : Slice(outputs, /*axis=*/0, chosen, 1);
}

template <typename T>
Inspection<T> Inspect(Forward<T>& forward, const TraceablePrediction<T>& traced,
                      const InspectOptions& options) {
  const TraceDescription& labels = traced.labels;
  Inspection<T> inspection = {.labels = labels, .chosen = options.chosen};
  std::vector<std::string> gradients = {kAllMaps, kContexts};
  gradients.insert(gradients.end(), labels.inputs.begin(), labels.inputs.end());
  std::vector<std::string> values = gradients;
  const bool sees_layers = traced.lens.log_probabilities != nullptr;
  if (sees_layers) values.push_back(traced.lens.sites);
  SiteValueRecorder<T> recorder(values, gradients);
  const Var<T> outputs = Run(forward, traced, options.chosen, &recorder);
  if (outputs.has_value()) {
    inspection.outputs.assign(outputs.span().begin(), outputs.span().end());
  }
  REGARD_CHECK_EQ(inspection.outputs.size(), labels.outputs.size());
  inspection.maps = AttentionMaps(recorder);
  AddRowGradients(forward, traced, &inspection.maps);
  if (sees_layers) inspection.lens_rows = traced.lens.rows;
  std::vector<const typename SiteValueRecorder<T>::Seen*> layers;
  for (const auto& seen : recorder.seen()) {
    if (absl::EndsWith(seen.site, "attention/context")) {
      AddImportance<T>(seen, &inspection.heads);
    }
    if (!seen.gradient.empty() && MatchesSite(labels.inputs, seen.site)) {
      inspection.inputs.push_back(NormsOf<T>(seen, labels));
    }
    if (!sees_layers || !MatchesSite(traced.lens.sites, seen.site)) continue;
    // The last residual in a layer is the output of the layer. Drops the
    // residuals before it.
    if (!layers.empty() && LayerOf(layers.back()->site) == LayerOf(seen.site)) {
      layers.pop_back();
    }
    layers.push_back(&seen);
  }
  for (const auto* const seen : layers) {
    inspection.lens.push_back(
        LookThrough(traced.lens, forward, *seen, options.most_choices));
  }
  for (LayerHeadImportances& of : inspection.heads) {
    for (double& head : of.heads) head = std::abs(head);
  }
  inspection.rollouts = RolloutsOf(inspection.maps, inspection.labels);
  return inspection;
}

template struct Inspection<float>;
template struct Inspection<double>;
REGARD_INSTANTIATE_FUNCTION(ChosenOutput);
REGARD_INSTANTIATE_FUNCTION(Inspect);

}  // namespace regard
