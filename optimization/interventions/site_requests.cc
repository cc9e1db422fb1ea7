#include "optimization/interventions/site_requests.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "optimization/model_pass.h"
#include "options/name_suggestion.h"

namespace regard {

namespace {

void RequireSite(const std::string& site, ConfigProblems& problems) {
  if (site.empty()) {
    problems.Add("site", "must be set to a pattern of hook points (sites)");
  }
}

// Records every hook point that a pass visits, and the shapes of the hook
// points that match `patterns`.
class SiteCensus : public Hook<float> {
 public:
  explicit SiteCensus(std::vector<std::string> patterns)
      : patterns_(std::move(patterns)) {}

  HookRequest Request(const std::string& site) override {
    sites_.try_emplace(site);
    return {.value = MatchesSite(patterns_, site)};
  }
  void OnValue(const std::string& site, Var<float> value) override {
    sites_[site] = value.shape();
  }

  const SiteShapes& sites() const { return sites_; }

 private:
  const std::vector<std::string> patterns_;
  SiteShapes sites_;
};

bool IsSiteOf(absl::string_view name, absl::string_view site) {
  return absl::EndsWith(absl::StrCat("/", site), absl::StrCat("/", name));
}

// Adds at most one problem for a request. wrong(site, shape) returns the path
// of the problem within the request, and its message. An empty path means that
// there is no problem.
template <typename Wrong>
void CheckEachSite(const SiteShapes& sites, const std::string& pattern,
                   ConfigProblems& problems, Wrong wrong) {
  bool found = false;
  for (const auto& [site, shape] : sites) {
    if (!MatchesSite(pattern, site)) continue;
    found = true;
    const auto& [path, message] = wrong(site, shape);
    if (path.empty()) continue;
    problems.Add(path, absl::StrCat("'", site, "' ", message));
    return;
  }
  if (!found) problems.Add("site", NoSuchSiteMessage(sites, pattern));
}

std::pair<std::string, std::string> WrongIntervention(
    const Intervention& intervention, const std::string& site,
    const Shape& shape) {
  if (AppliesOnlyToWeights(intervention.replace()) && !IsWeightsSite(site)) {
    return {"replace",
            "is not a hook point of attention weights; uniform and permuted "
            "require one"};
  }
  if (intervention.replace().has_mean() &&
      (IsWeightsSite(site) || IsSiteOf("scores", site) ||
       IsSiteOf("distance_bias", site))) {
    return {"replace",
            "cannot be replaced by a mean: its keys differ between examples"};
  }
  if (intervention.replace().has_input() && !IsSiteOf("residual", site)) {
    return {"replace", "is not a `residual` hook point; `input` requires one"};
  }
  if (!intervention.has_head()) return {};
  if (shape.rank() != 4) return {"head", "has no heads; remove `head`"};
  if (intervention.head() < shape[1]) return {};
  return {"head",
          absl::StrCat("has ", shape[1], " heads; `head` must be less than ",
                       shape[1], ", got ", intervention.head())};
}

}  // namespace

bool IsWeightsSite(absl::string_view site) { return IsSiteOf("weights", site); }

bool AppliesOnlyToWeights(const Replacement& replace) {
  return replace.has_uniform() || replace.has_permuted();
}

bool AppliesOnlyToWeights(SiteStatistic::Statistic statistic) {
  return statistic == SiteStatistic::ENTROPY ||
         statistic == SiteStatistic::TOP_KEY_SHARE ||
         statistic == SiteStatistic::FIRST_KEY_SHARE ||
         statistic == SiteStatistic::WINDOW_SHARE;
}

bool NeedsOnlyRowStatistics(SiteStatistic::Statistic statistic) {
  return AppliesOnlyToWeights(statistic) || statistic == SiteStatistic::MAX;
}

SiteShapes RecordSiteShapes(Model<float>& model, uint64_t seed,
                            std::vector<std::string> patterns) {
  SiteCensus census(std::move(patterns));
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  forward.set_hook(&census);
  RunModelOnce(model, seed, forward, [&] { return !census.sites().empty(); });
  return census.sites();
}

std::string NoSuchSiteMessage(const SiteShapes& sites,
                              absl::string_view pattern) {
  if (sites.empty()) return "this model has no hook points (sites)";
  const auto nearest = std::min_element(
      sites.begin(), sites.end(), [&](const auto& a, const auto& b) {
        return EditDistance(pattern, a.first, /*wildcards=*/true) <
               EditDistance(pattern, b.first, /*wildcards=*/true);
      });
  return absl::StrCat("no hook point (site) of this model matches '", pattern,
                      "'; the nearest is '", AllStepsPattern(nearest->first),
                      "'");
}

void ValidateSiteRequests(const SiteRequestsView& requests,
                          ConfigProblems& problems) {
  for (int i = 0; i < requests.intervene.size(); ++i) {
    const Intervention& intervention = requests.intervene[i];
    const ConfigProblems::Scope scope(problems,
                                      absl::StrCat("intervene[", i, "]"));
    RequireSite(intervention.site(), problems);
    problems.CheckRanges(intervention);
    if (intervention.replace().replacement_case() ==
        Replacement::REPLACEMENT_NOT_SET) {
      problems.Add("replace",
                   "must set exactly one of zeros {}, uniform {}, permuted {}, "
                   "mean {}, input {} or scale: NUMBER");
    }
    if (intervention.has_to_step() &&
        intervention.to_step() <= intervention.from_step()) {
      problems.Add("to_step", absl::StrCat("must be greater than `from_step` (",
                                           intervention.from_step(), ")"));
    }
  }
  for (int i = 0; i < requests.hook.size(); ++i) {
    const ConfigProblems::Scope scope(problems, absl::StrCat("probe[", i, "]"));
    RequireSite(requests.hook[i].site(), problems);
    problems.CheckRanges(requests.hook[i]);
    if (requests.hook[i].statistic() == SiteStatistic::STATISTIC_UNSPECIFIED) {
      problems.Add("statistic",
                   "must be set to ENTROPY, NORM, MAX, TOP_KEY_SHARE, "
                   "FIRST_KEY_SHARE or WINDOW_SHARE");
    }
    const bool reads_window =
        requests.hook[i].statistic() == SiteStatistic::WINDOW_SHARE;
    if (reads_window && requests.hook[i].window() == 0) {
      problems.Add("window",
                   "must be set to the number of keys of WINDOW_SHARE, such as "
                   "64");
    } else if (!reads_window && requests.hook[i].window() > 0) {
      problems.Note("window", "has no effect: only WINDOW_SHARE reads it");
    }
  }
}

void ValidateSites(const SiteRequestsView& requests, uint64_t seed,
                   Model<float>& model, ConfigProblems& problems) {
  if (requests.empty()) return;
  std::vector<std::string> patterns;
  for (const auto& i : requests.intervene) patterns.push_back(i.site());
  const SiteShapes sites = RecordSiteShapes(model, seed, std::move(patterns));
  for (int i = 0; i < requests.intervene.size(); ++i) {
    const Intervention& intervention = requests.intervene[i];
    const ConfigProblems::Scope scope(problems,
                                      absl::StrCat("intervene[", i, "]"));
    CheckEachSite(sites, intervention.site(), problems,
                  [&](const std::string& site, const Shape& shape) {
                    return WrongIntervention(intervention, site, shape);
                  });
    if (intervention.replace().has_mean() && model.num_examples() == 0) {
      problems.Add("replace.mean",
                   "requires training examples, but there are none");
    }
  }
  for (int i = 0; i < requests.hook.size(); ++i) {
    const SiteStatistic& statistic = requests.hook[i];
    const ConfigProblems::Scope scope(problems, absl::StrCat("probe[", i, "]"));
    CheckEachSite(
        sites, statistic.site(), problems,
        [&](const std::string& site, const Shape&) {
          using Wrong = std::pair<std::string, std::string>;
          return AppliesOnlyToWeights(statistic.statistic()) &&
                         !IsWeightsSite(site)
                     ? Wrong("statistic",
                             absl::StrCat("is not a hook point of attention "
                                          "weights; ",
                                          SiteStatistic::Statistic_Name(
                                              statistic.statistic()),
                                          " requires one"))
                     : Wrong();
        });
  }
}

}  // namespace regard
