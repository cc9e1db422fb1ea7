#include "optimization/interventions/configured_hook.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/instantiate.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Replaces the nonzero elements of the row with their mean.
template <typename T>
void MakeUniform(absl::Span<T> row) {
  const auto keys =
      std::count_if(row.begin(), row.end(), [](T w) { return w != 0; });
  const T mean =
      std::accumulate(row.begin(), row.end(), T(0)) / static_cast<T>(keys);
  std::replace_if(
      row.begin(), row.end(), [](T w) { return w != 0; }, mean);
}

// Shuffles the nonzero elements of the row (Fisher and Yates).
template <typename T>
void Permute(const RandomStream& random, absl::Span<T> row) {
  std::vector<T*> keys;
  for (T& weight : row) {
    if (weight != 0) keys.push_back(&weight);
  }
  for (size_t last = keys.size(); last > 1; --last) {
    std::swap(*keys[last - 1], *keys[random.UniformIntAt(last, last)]);
  }
}

// The layout of a value. Values [batch, heads, .., cols] of rank 4 have heads.
struct HeadLayout {
  explicit HeadLayout(const Shape& shape)
      : heads(shape.rank() == 4 ? shape[1] : 1),
        inner(shape.rank() == 4 ? shape[2] * shape[3] : 1),
        cols(shape.cols()) {}

  int64_t Head(int64_t i) const { return i / inner % heads; }
  // Returns the column of element i among the columns of all heads.
  int64_t Column(int64_t i) const { return Head(i) * cols + i % cols; }

  int64_t heads;
  int64_t inner;  // elements per example and head
  int64_t cols;
};

// Returns a name for a row of weights [batch, .., queries, keys]. It contains
// the example, head and query, and does not depend on the padding of the batch.
template <typename T>
std::string RowName(Var<T> weights, int64_t row) {
  const absl::Span<const int64_t> examples = weights.tape().random().examples;
  const Shape& shape = weights.shape();
  const int64_t rows = weights.rows() / shape[0];
  const int64_t queries = shape[-2];
  const int64_t example = row / rows;
  const bool known = example < static_cast<int64_t>(examples.size());
  return absl::StrCat(known ? examples[example] : example, "/",
                      row % rows / queries, "/", row % queries);
}

// Returns the larger number, or NaN if either is NaN.
double Greater(double a, double b) { return b > a || std::isnan(b) ? b : a; }

template <typename T>
AccumulatedStatistic OfRow(SiteStatistic::Statistic statistic,
                           absl::Span<const T> row) {
  double squares = 0;
  double top = -std::numeric_limits<double>::infinity();
  for (const T element : row) {
    const auto x = static_cast<double>(element);
    squares += x * x;
    top = Greater(top, x);
  }
  return {statistic, statistic == SiteStatistic::MAX ? top : std::sqrt(squares),
          1};
}

// Returns the statistic of row `i`. A masked row does not count, except for
// MAX.
AccumulatedStatistic OfRow(const SiteStatistic& wanted,
                           const AttentionStatistics& rows, int64_t i) {
  const SiteStatistic::Statistic statistic = wanted.statistic();
  if (statistic == SiteStatistic::MAX) return {statistic, rows.max[i], 1};
  const double sum = rows.sum[i];
  if (sum == 0) return {statistic};
  if (statistic == SiteStatistic::ENTROPY) {
    return {statistic, rows.entropy[i], 1};
  }
  const double mass = statistic == SiteStatistic::TOP_KEY_SHARE ? rows.top[i]
                      : statistic == SiteStatistic::FIRST_KEY_SHARE
                          ? rows.first[i]
                          : rows.CausalWindowSums(wanted.window())[i];
  return {statistic, mass / sum, 1};
}

RowStatisticsRequest RowsOf(const SiteStatistic& wanted) {
  const SiteStatistic::Statistic statistic = wanted.statistic();
  RowStatisticsRequest rows;
  rows.entropy = statistic == SiteStatistic::ENTROPY;
  rows.top = statistic == SiteStatistic::MAX ||
             statistic == SiteStatistic::TOP_KEY_SHARE;
  rows.first = statistic == SiteStatistic::FIRST_KEY_SHARE;
  if (statistic == SiteStatistic::WINDOW_SHARE) {
    rows.windows = {wanted.window()};
  }
  return rows;
}

std::string ReportedName(const std::string& site, const SiteStatistic& wanted) {
  const std::string joined = AllStepsPattern(site);
  std::string name = absl::StrCat(
      "probe/", MatchesSite(wanted.site(), joined) ? joined : site, "/",
      absl::AsciiStrToLower(SiteStatistic::Statistic_Name(wanted.statistic())));
  if (wanted.statistic() == SiteStatistic::WINDOW_SHARE) {
    absl::StrAppend(&name, "_", wanted.window());
  }
  return name;
}

}  // namespace

void AccumulatedStatistic::Add(const AccumulatedStatistic& other) {
  if (rows == 0) {
    *this = other;
    return;
  }
  rows += other.rows;
  if (other.rows == 0) return;
  value = statistic == SiteStatistic::MAX ? Greater(value, other.value)
                                          : value + other.value;
}

double AccumulatedStatistic::Value() const {
  if (rows == 0) return 0;
  return statistic == SiteStatistic::MAX ? value
                                         : value / static_cast<double>(rows);
}

template <typename T>
Hook<T>* ConfiguredHook<T>::Begin(int64_t step, bool updates) {
  step_ = step;
  updates_ = updates;
  const bool asked =
      std::any_of(requests_.intervene.begin(), requests_.intervene.end(),
                  [this](const auto& i) { return IsActive(i); }) ||
      std::any_of(requests_.hook.begin(), requests_.hook.end(),
                  [this](const auto& s) { return IsDue(s); });
  return asked ? this : nullptr;
}

template <typename T>
bool ConfiguredHook<T>::IsActive(const Intervention& intervention) const {
  return step_ >= intervention.from_step() &&
         (!intervention.has_to_step() || step_ < intervention.to_step());
}

template <typename T>
bool ConfiguredHook<T>::IsDue(const SiteStatistic& statistic) const {
  return updates_ && (step_ + 1) % statistic.every() == 0;
}

template <typename T>
template <typename F>
void ConfiguredHook<T>::ForEachDue(const std::string& site, bool of_rows,
                                   F f) const {
  for (const SiteStatistic& statistic : requests_.hook) {
    if (!IsDue(statistic) || !MatchesSite(statistic.site(), site)) continue;
    const bool weights = IsWeightsSite(site);
    if (AppliesOnlyToWeights(statistic.statistic()) && !weights) continue;
    if ((weights && NeedsOnlyRowStatistics(statistic.statistic())) == of_rows) {
      f(statistic);
    }
  }
}

template <typename T>
bool ConfiguredHook<T>::ChangesSite(const Intervention& intervention,
                                    const std::string& site) const {
  return IsActive(intervention) && MatchesSite(intervention.site(), site);
}

template <typename T>
HookRequest ConfiguredHook<T>::Request(const std::string& site) {
  HookRequest request;
  for (const Intervention& intervention : requests_.intervene) {
    if (!ChangesSite(intervention, site)) continue;
    if (!collects_) {
      request.replacement = true;
      request.input |= intervention.replace().has_input();
    } else if (intervention.replace().has_mean()) {
      request.value = true;
    }
  }
  ForEachDue(site, /*of_rows=*/false,
             [&](const SiteStatistic&) { request.value = true; });
  ForEachDue(site, /*of_rows=*/true, [&](const SiteStatistic& statistic) {
    request.rows.Add(RowsOf(statistic));
  });
  return request;
}

template <typename T>
void ConfiguredHook<T>::AddToMean(const std::string& site, Var<T> value) {
  const HeadLayout layout(value.shape());
  MeanSum& mean = means_[AllStepsPattern(site)];
  mean.sums.resize(static_cast<size_t>(layout.heads * layout.cols));
  for (int64_t i = 0; i < value.size(); ++i) {
    mean.sums[layout.Column(i)] += static_cast<double>(value.data()[i]);
  }
  mean.count += value.size() / (layout.heads * layout.cols);
}

template <typename T>
void ConfiguredHook<T>::OnValue(const std::string& site, Var<T> value) {
  if (collects_) {
    AddToMean(site, value);
    return;
  }
  ForEachDue(site, /*of_rows=*/false, [&](const SiteStatistic& wanted) {
    AccumulatedStatistic sum = {.statistic = wanted.statistic()};
    for (int64_t row = 0; row < value.rows(); ++row) {
      sum.Add(OfRow<T>(wanted.statistic(),
                       value.span().subspan(row * value.cols(), value.cols())));
    }
    sums_[ReportedName(site, wanted)].Add(sum);
  });
}

template <typename T>
void ConfiguredHook<T>::OnRowStatistics(const std::string& site,
                                        const AttentionStatistics& rows) {
  ForEachDue(site, /*of_rows=*/true, [&](const SiteStatistic& wanted) {
    AccumulatedStatistic sum = {.statistic = wanted.statistic()};
    for (int64_t row = 0; row < rows.size(); ++row) {
      sum.Add(OfRow(wanted, rows, row));
    }
    sums_[ReportedName(site, wanted)].Add(sum);
  });
}

template <typename T>
void ConfiguredHook<T>::TakeStatistics(AccumulatedStatistics* sums) {
  for (const auto& [name, sum] : sums_) (*sums)[name].Add(sum);
  sums_.clear();
}

template <typename T>
Var<T> ConfiguredHook<T>::Replace(Tape<T>& tape, const std::string& site,
                                  Var<T> value) {
  // An intervention with `input` replaces the whole value, so earlier
  // interventions have no effect.
  const auto end = requests_.intervene.end();
  auto first = requests_.intervene.begin();
  for (auto i = first; i != end; ++i) {
    if (ChangesSite(*i, site) && i->replace().has_input()) first = i;
  }
  for (auto i = first; i != end; ++i) {
    if (ChangesSite(*i, site)) value = Apply(tape, *i, site, value);
  }
  return value;
}

template <typename T>
Var<T> ConfiguredHook<T>::Apply(Tape<T>& tape, const Intervention& intervention,
                                const std::string& site, Var<T> value) const {
  const Replacement& replace = intervention.replace();
  const HeadLayout layout(value.shape());
  const bool all = !intervention.has_head();
  const int64_t head = intervention.head();
  REGARD_CHECK(all || head < layout.heads)
      << "head " << head << " of " << site << " " << value.shape();
  const auto changes = [=](int64_t i) { return all || layout.Head(i) == head; };
  const T factor = replace.has_input()   ? T(1)
                   : replace.has_scale() ? static_cast<T>(replace.scale())
                                         : T(0);
  const auto scaled = [=](T x, int64_t i) {
    if (!changes(i)) return x;
    return factor == 0 ? T(0) : factor * x;
  };
  const Var<T> out = tape.NewLike(value, value.needs_grad());
  for (int64_t i = 0; i < value.size(); ++i) {
    out.data()[i] = scaled(value.data()[i], i);
  }
  if (replace.has_mean()) {
    const auto found = means_.find(AllStepsPattern(site));
    REGARD_CHECK(found != means_.end()) << "no mean of " << site;
    const auto& [sums, count] = found->second;
    for (int64_t i = 0; i < value.size(); ++i) {
      if (!changes(i)) continue;
      out.data()[i] =
          static_cast<T>(sums[layout.Column(i)] / static_cast<double>(count));
    }
  }
  for (int64_t row = 0; AppliesOnlyToWeights(replace) && row < value.rows();
       ++row) {
    const int64_t begin = row * value.cols();
    if (!changes(begin)) continue;
    const absl::Span<T> keys = out.span().subspan(begin, value.cols());
    std::copy_n(value.data() + begin, value.cols(), keys.data());
    if (replace.has_uniform()) {
      MakeUniform(keys);
    } else {
      Permute(RandomStream(seed_, absl::StrCat("intervene/", site, "/", step_,
                                               "/", RowName(value, row))),
              keys);
    }
  }
  tape.Record("Intervention", out, [=] {
    if (auto d = value.grad_ref()) {
      d.AddEach([=](int64_t i) { return scaled(out.grad_data()[i], i); });
    }
  });
  return out;
}

REGARD_INSTANTIATE_CLASS(ConfiguredHook);

void CollectSiteMeans(uint64_t seed, Model<float>& model,
                      Forward<float>& forward, ConfiguredHook<float>& hook) {
  if (!hook.has_means()) return;
  const int64_t size = model.num_examples();
  const int64_t count = std::min(size, kMeanExamples);
  std::vector<double> denominators(model.loss_terms().size());
  std::vector<Var<float>> sums(denominators.size());
  model.BeginEpoch(std::nullopt);  // all runs use the same examples
  hook.SetMeanCollectionMode(true);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<int64_t> example = {i * size / count};
    model.Denominators(example, absl::MakeSpan(denominators));
    forward.BeginStep();
    forward.tape().set_random({seed, 0, example});
    model.Loss(forward, example, denominators, absl::MakeSpan(sums));
  }
  forward.tape().set_random({});
  hook.SetMeanCollectionMode(false);
}

}  // namespace regard
