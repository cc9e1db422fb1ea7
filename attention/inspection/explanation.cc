#include "attention/inspection/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/residual_sources.h"
#include "autodiff/instantiate.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

template <typename T>
using Seen = typename SiteValueRecorder<T>::Seen;

absl::Status Wrong(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}

// An attention layer, identified by its scope, and the values that a pass
// computed in it.
template <typename T>
struct Target {
  std::string scope;  // ".../attention"
  const Seen<T>* scores = nullptr;
  const Seen<T>* weights = nullptr;
  size_t before = 0;  // number of hook points visited before the scores
  int64_t head = 0;
  int64_t query = 0;
  int64_t key = 0;

  // Returns the index of key `of_key` in an array [1, heads, queries, keys].
  int64_t Index(int64_t of_key) const {
    return (head * scores->shape[2] + query) * scores->shape[3] + of_key;
  }
};

// Returns row `row` of each head of x [1, heads, rows, width].
template <typename T>
std::vector<double> RowOfHeads(const Shape& shape, const T* x, int64_t row) {
  std::vector<double> rows;
  for (int64_t head = 0; head < shape[1]; ++head) {
    const T* const first = x + (head * shape[2] + row) * shape[3];
    rows.insert(rows.end(), first, first + shape[3]);
  }
  return rows;
}

// The values of one pass that determine a score.
struct Reading {
  double score = 0;
  std::vector<double> query;
  std::vector<double> key;
  // Gradients of the score with respect to the query and to the key.
  std::vector<double> by_query;
  std::vector<double> by_key;
};

template <typename T>
class ScoreReader : public Hook<T> {
 public:
  explicit ScoreReader(const Target<T>& target) : target_(target) {}

  Reading Read(Forward<T>& forward, const TraceablePrediction<T>& traced) {
    reading_ = {};
    forward.BeginStep();
    const ScopedExtraHook<T> watch(forward, this);
    traced.pass(forward);
    const Var<T> score = Slice(scores_.Reshape({scores_.size()}), /*axis=*/0,
                               target_.Index(target_.key), 1);
    reading_.score = static_cast<double>(score.item());
    reading_.by_query.assign(reading_.query.size(), 0);
    reading_.by_key.assign(reading_.key.size(), 0);
    if (score.needs_grad()) forward.tape().Backward(score);
    return reading_;
  }

  HookRequest Request(const std::string& site) override {
    const bool read = IsOfTarget(site, "scores") ||
                      IsOfTarget(site, "queries") || IsOfTarget(site, "keys");
    return {.value = read, .gradient = read};
  }

  void OnValue(const std::string& site, Var<T> value) override {
    if (IsOfTarget(site, "scores")) {
      scores_ = value;
    } else if (IsOfTarget(site, "keys")) {
      reading_.key = RowOfHeads(value.shape(), value.data(), target_.key);
    } else {
      reading_.query = RowOfHeads(value.shape(), value.data(), target_.query);
    }
  }

  void OnGradient(const std::string& site, Var<T> value) override {
    const T* const gradient = value.grad_data();
    if (IsOfTarget(site, "keys")) {
      reading_.by_key = RowOfHeads(value.shape(), gradient, target_.key);
    } else if (IsOfTarget(site, "queries")) {
      reading_.by_query = RowOfHeads(value.shape(), gradient, target_.query);
    }
  }

 private:
  bool IsOfTarget(absl::string_view site, absl::string_view name) const {
    return absl::ConsumePrefix(&site, target_.scope) &&
           absl::ConsumePrefix(&site, "/") && site == name;
  }

  const Target<T>& target_;
  Reading reading_;
  Var<T> scores_;
};

// Lists the attention layers of a pass for an error message. The layers of a
// stack share one entry.
template <typename T>
std::string AttentionsOf(const SiteValueRecorder<T>& pass) {
  std::vector<std::string> sites;
  for (const Seen<T>& seen : pass.seen()) {
    absl::string_view site = seen.site;
    if (!absl::ConsumeSuffix(&site, "/scores")) continue;
    std::string joined =
        AllLayersPattern(AllStepsPattern(absl::StrCat(site, "/weights")));
    if (std::ranges::count(sites, joined) == 0) sites.push_back(joined);
  }
  return sites.empty() ? "this model has no scores of attention"
                       : absl::StrCat("the attentions of this model are ",
                                      absl::StrJoin(sites, ", "));
}

absl::Status CheckIndex(absl::string_view what, int64_t index, int64_t count) {
  if (index < count) return absl::OkStatus();
  return Wrong(absl::StrCat(what, ": must be less than ", count,
                            ", the number of ",
                            what == "key"     ? "keys"
                            : what == "query" ? "queries"
                                              : "heads",
                            "; got ", index));
}

template <typename T>
absl::StatusOr<Target<T>> FindTarget(const SiteValueRecorder<T>& pass,
                                     const ExplainOptions& options) {
  std::vector<Target<T>> found;
  for (size_t i = 0; i < pass.seen().size(); ++i) {
    const Seen<T>& seen = pass.seen()[i];
    absl::string_view scope = seen.site;
    if (!absl::ConsumeSuffix(&scope, "/scores")) continue;
    const std::string weights = absl::StrCat(scope, "/weights");
    if (!MatchesSite(options.site, scope) &&
        !MatchesSite(options.site, seen.site) &&
        !MatchesSite(options.site, weights)) {
      continue;
    }
    found.push_back({.scope = std::string(scope),
                     .scores = &seen,
                     .weights = pass.Find(weights),
                     .before = i});
  }
  if (found.empty()) {
    const bool mixer = std::ranges::any_of(pass.seen(), [&](const auto& seen) {
      return absl::EndsWith(seen.site, "/weights") &&
             MatchesSite(options.site, seen.site);
    });
    return Wrong(absl::StrCat("'", options.site, "' ",
                              mixer ? "is a state mixer, which has no scores"
                                    : "matches no attention",
                              "; ", AttentionsOf(pass)));
  }
  if (found.size() > 1) {
    return Wrong(absl::StrCat("'", options.site, "' matches ", found.size(),
                              " attentions; give one, such as '",
                              found[0].scope, "/weights'"));
  }
  Target<T> target = found[0];
  const Shape& shape = target.scores->shape;
  if (shape[0] != 1) {
    return Wrong(absl::StrCat("the model reads ", shape[0],
                              " texts at once; give one text"));
  }
  if (options.head < 0 && shape[1] > 1) {
    return Wrong(absl::StrCat("head: must be given, because '", target.scope,
                              "' has ", shape[1], " heads"));
  }
  REGARD_RETURN_IF_ERROR(CheckIndex("head", options.head, shape[1]));
  REGARD_RETURN_IF_ERROR(CheckIndex("query", options.query, shape[2]));
  REGARD_RETURN_IF_ERROR(CheckIndex("key", options.key, shape[3]));
  target.head = std::max<int64_t>(options.head, 0);
  target.query = options.query < 0 ? shape[2] - 1 : options.query;
  for (int64_t key = 0; key < shape[3]; ++key) {
    const auto weight = [&](int64_t of_key) {
      return std::abs(
          target.weights->value[static_cast<size_t>(target.Index(of_key))]);
    };
    if (weight(key) > weight(target.key)) target.key = key;
  }
  if (options.key >= 0) target.key = options.key;
  return target;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> Minus(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

std::vector<double> Plus(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// A vector of Reading as a sum of contributions of the sources.
struct Contributions {
  std::vector<std::vector<double>> of_sources = {};
  // The vector minus its value without sources and minus all contributions. It
  // contains only rounding errors if the vector is linear in the sources.
  std::vector<double> rest = {};
  bool is_linear = true;
};

Contributions ContributionsTo(std::vector<double> Reading::*member,
                              const Reading& full, const Reading& none,
                              const std::vector<Reading>& readings,
                              double rounding) {
  Contributions all = {.rest = Minus(full.*member, none.*member)};
  std::vector<double> magnitudes(all.rest.size(), 0);
  double largest = 0;
  for (const Reading& of : readings) {
    std::vector<double> part = Minus(of.*member, none.*member);
    for (size_t i = 0; i < part.size(); ++i) {
      magnitudes[i] += std::abs(part[i]) + std::abs((none.*member)[i]);
      largest = std::max(largest, magnitudes[i]);
    }
    all.rest = Minus(std::move(all.rest), part);
    all.of_sources.push_back(std::move(part));
  }
  for (const double rest : all.rest) {
    // The negated comparison also catches NaN.
    if (!(std::abs(rest) <= rounding * largest)) all.is_linear = false;
  }
  return all;
}

// Fills the terms, and the sums of the terms of each source. The last source
// contains everything that belongs to no other source. Assumes that the score
// is linear in the query and in the key. Returns whether the query, the key and
// the gradient with respect to the key are sums over sources, up to rounding.
bool AddTerms(const Reading& full, const Reading& none,
              const std::vector<Reading>& readings, double rounding,
              ScoreExplanation* explanation) {
  const auto contributions_to = [&](std::vector<double> Reading::*member) {
    return ContributionsTo(member, full, none, readings, rounding);
  };
  const Contributions query = contributions_to(&Reading::query);
  const Contributions key = contributions_to(&Reading::key);
  const Contributions by_key = contributions_to(&Reading::by_key);
  const size_t biases = readings.size();
  const size_t count = biases + 1;
  std::vector<double>& terms = explanation->terms;
  terms.assign(count * count, 0);
  for (size_t a = 0; a < biases; ++a) {
    for (size_t b = 0; b < biases; ++b) {
      terms[a * count + b] = Dot(by_key.of_sources[a], key.of_sources[b]);
    }
    terms[a * count + biases] = Dot(none.by_query, query.of_sources[a]) +
                                Dot(by_key.of_sources[a], key.rest);
  }
  const std::vector<double> by_key_of_biases = Plus(none.by_key, by_key.rest);
  for (size_t b = 0; b < biases; ++b) {
    terms[biases * count + b] = Dot(by_key_of_biases, key.of_sources[b]);
  }
  terms.back() = none.score + Dot(none.by_query, query.rest) +
                 Dot(by_key_of_biases, key.rest);
  for (size_t a = 0; a < count; ++a) {
    ScoreSource& source = explanation->sources[a];
    for (size_t b = 0; b < count; ++b) {
      source.as_query += terms[a * count + b];
      source.as_key += terms[b * count + a];
    }
  }
  return query.is_linear && key.is_linear && by_key.is_linear;
}

template <typename T>
void AddLayerBiases(const SiteValueRecorder<T>& pass, const Target<T>& target,
                    ScoreExplanation* explanation) {
  const Shape& shape = target.scores->shape;
  const auto site = [&](const char* name) {
    return pass.Find(absl::StrCat(target.scope, "/", name));
  };
  if (const Seen<T>* const bias = site("distance_bias"); bias != nullptr) {
    // The distances ascend. The first distance is between the last query and
    // the first key.
    const int64_t distances = bias->shape[3];
    const int64_t step =
        shape[2] > 1 ? (distances - shape[3]) / (shape[2] - 1) : 0;
    explanation->distance_bias = static_cast<double>(
        bias->value[static_cast<size_t>(target.head * distances + target.key +
                                        (shape[2] - 1 - target.query) * step)]);
  }
  if (const Seen<T>* const decays = site("log_decays"); decays != nullptr) {
    const auto sum_between = [&](int64_t after, int64_t last) {
      double sum = 0;
      for (int64_t t = after + 1; t <= last; ++t) {
        sum += static_cast<double>(
            decays->value[static_cast<size_t>(t * shape[1] + target.head)]);
      }
      return sum;
    };
    explanation->forgetting = sum_between(target.key, target.query) -
                              sum_between(target.query, target.key);
  }
}

template <typename T>
absl::Status CheckVisitedOnce(const SiteValueRecorder<T>& pass) {
  std::set<std::string> sites;
  for (const Seen<T>& seen : pass.seen()) {
    if (!sites.insert(seen.site).second) {
      return Wrong(absl::StrCat("the model computes '", seen.site,
                                "' several times for this input; only a score "
                                "of a single pass can be explained"));
    }
  }
  return absl::OkStatus();
}

void AddLabels(const TraceDescription& labels, const Shape& scores,
               ScoreExplanation* explanation) {
  const std::string& site = explanation->site;
  explanation->key_label =
      labels.KeyLabels(site, scores[3])[static_cast<size_t>(explanation->key)];
  std::vector<std::string> queries = labels.QueryLabels(site, scores[2]);
  if (const SiteSequences* const of = labels.Find(site); of != nullptr) {
    // The label of a query is the token that the position reads, not the token
    // that the position writes.
    const std::vector<std::string>& reads =
        labels.sequences.at(of->queries).labels;
    if (reads.size() == queries.size()) queries = reads;
  }
  explanation->query_label = queries[static_cast<size_t>(explanation->query)];
}

}  // namespace

std::string ScoreSource::Name() const {
  return source.has_value() ? source->Name() : "biases";
}

template <typename T>
absl::StatusOr<ScoreExplanation> Explain(Forward<T>& forward,
                                         const TraceablePrediction<T>& traced,
                                         const ExplainOptions& options) {
  std::vector<std::string> sites = ResidualSourceSites();
  for (const char* name :
       {"scores", "weights", "distance_bias", "log_decays"}) {
    sites.push_back(absl::StrCat("*attention/", name));
  }
  SiteValueRecorder<T> pass(std::move(sites));
  forward.BeginStep();
  {
    const ScopedExtraHook<T> watch(forward, &pass);
    traced.pass(forward);
  }
  REGARD_RETURN_IF_ERROR(CheckVisitedOnce(pass));
  REGARD_ASSIGN_OR_RETURN(const Target<T> target, FindTarget<T>(pass, options));
  const auto at_target = [&](const Seen<T>* seen) {
    return static_cast<double>(
        seen->value[static_cast<size_t>(target.Index(target.key))]);
  };
  const double score = at_target(target.scores);
  if (!std::isfinite(score)) {
    return Wrong(absl::StrCat("key: the query at ", target.query,
                              " does not see the key at ", target.key));
  }
  ScoreExplanation explanation = {.site = target.weights->site,
                                  .head = target.head,
                                  .query = target.query,
                                  .key = target.key,
                                  .weight = at_target(target.weights)};
  AddLayerBiases(pass, target, &explanation);
  SingleSourceHook<T> one_source(FindResidualSources<T>(
      forward, traced, pass.seen().first(target.before)));
  ScoreReader<T> reader(target);
  const Reading full = reader.Read(forward, traced);
  const ScopedExtraHook<T> hold(forward, &one_source);
  const Reading none = reader.Read(forward, traced);
  std::vector<Reading> readings;
  bool reaches_query = false;
  bool reaches_key = false;
  for (const auto& part : one_source.sources().parts) {
    one_source.Choose(&part);
    Reading reading = reader.Read(forward, traced);
    const bool changes_query = reading.query != none.query;
    const bool changes_key = reading.key != none.key;
    if (!changes_query && !changes_key) continue;
    reaches_query = reaches_query || changes_query;
    reaches_key = reaches_key || changes_key;
    readings.push_back(std::move(reading));
    explanation.sources.push_back({.source = part.source});
  }
  if (!reaches_query || !reaches_key) {
    return Wrong(absl::StrCat(
        "the ", reaches_query ? "keys" : "queries", " of '", target.scope,
        "' are not computed from the residual stream of a Transformer"));
  }
  explanation.sources.push_back({});
  constexpr double kRounding = 1000 * std::numeric_limits<T>::epsilon();
  const bool is_linear =
      AddTerms(full, none, readings, kRounding, &explanation);
  double sum = 0;
  double magnitude = 0;
  for (const double term : explanation.terms) {
    sum += term;
    magnitude += std::abs(term);
  }
  if (!is_linear ||
      !(std::abs(sum - score) <= kExplanationTolerance * magnitude)) {
    return Wrong(absl::StrCat(
        "the score of '", target.scope,
        "' is not linear in what its query and its key read, so it cannot be "
        "written as a sum over sources; scaled_dot, dot, bilinear and "
        "relative_dot are linear, but additive, cosine, soft_cap and "
        "selections by content are not"));
  }
  const double layer_biases =
      explanation.distance_bias + explanation.forgetting;
  explanation.score = score + layer_biases;
  explanation.total = sum + layer_biases;
  AddLabels(traced.labels, target.scores->shape, &explanation);
  return explanation;
}

REGARD_INSTANTIATE_FUNCTION(Explain);

}  // namespace regard
