#include "experiments/ablation/expectations.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "evaluation/statistics.h"
#include "experiments/ablation/claims.pb.h"

namespace regard {
namespace {

// Returns a metric of a run. If the run has no such metric, the message of the
// error is the verdict.
absl::StatusOr<double> Measure(const std::map<std::string, RunStatus>& runs,
                               const std::string& experiment,
                               const std::string& metric) {
  const auto run = runs.find(experiment);
  if (run == runs.end()) return absl::NotFoundError("not run");
  if (run->second.state != RunState::kFinished) {
    return absl::NotFoundError("run failed");
  }
  const auto found = run->second.metrics.find(metric);
  if (found == run->second.metrics.end()) {
    return absl::NotFoundError("no such metric");
  }
  return found->second;
}

// A relation that a result must have to a limit, or to the result of another
// experiment.
struct Relation {
  const char* relation;
  double limit;
  std::optional<std::string> other = {};
};

// Must not be used for a claim with `near`.
Relation RelationOf(const Claim& claim) {
  if (claim.has_greater_than_experiment()) {
    return {">", 0, claim.greater_than_experiment()};
  }
  if (claim.has_less_than_experiment()) {
    return {"<", 0, claim.less_than_experiment()};
  }
  if (claim.has_at_least()) return {">=", claim.at_least()};
  return {"<=", claim.at_most()};
}

std::string Expected(const Claim& claim) {
  if (claim.has_near()) {
    return absl::StrFormat("%s ± %s", FormatMetric(claim.near().value()),
                           FormatMetric(claim.near().tolerance()));
  }
  const auto [relation, limit, other] = RelationOf(claim);
  return absl::StrCat(relation, " ",
                      other.has_value() ? *other : FormatMetric(limit));
}

std::string VerdictOf(const Claim& claim, double ours,
                      const std::map<std::string, RunStatus>& runs) {
  auto [relation, limit, other] = RelationOf(claim);
  std::string there;
  if (other.has_value()) {
    const auto theirs = Measure(runs, *other, claim.metric());
    if (!theirs.ok()) {
      return absl::StrCat(*other, ": ", theirs.status().message());
    }
    limit = *theirs;
    there = absl::StrCat(" (the other run: ", FormatMetric(limit), ")");
  }
  const bool holds =
      claim.has_near()
          ? std::abs(ours - claim.near().value()) <= claim.near().tolerance()
          : MetricBound{"", relation, limit}.Holds(ours);
  return absl::StrCat(holds ? "confirmed" : "not confirmed", there);
}

}  // namespace

bool MetricBound::Holds(double value) const {
  if (relation == "<") return value < limit;
  if (relation == "<=") return value <= limit;
  if (relation == ">") return value > limit;
  if (relation == ">=") return value >= limit;
  return value == limit;
}

absl::StatusOr<MetricBound> ParseBound(absl::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  MetricBound bound;
  const bool right = words.size() == 3 &&
                     (words[1] == "<" || words[1] == "<=" || words[1] == ">" ||
                      words[1] == ">=" || words[1] == "==") &&
                     absl::SimpleAtod(words[2], &bound.limit);
  if (!right) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not a bound; write one like 'test/bleu >= 95'"));
  }
  bound.metric = words[0];
  bound.relation = words[1];
  return bound;
}

void ValidateClaims(const Claims& claims, ConfigProblems& problems) {
  for (int i = 0; i < claims.claims_size(); ++i) {
    const Claim& claim = claims.claims(i);
    const ConfigProblems::Scope scope(problems,
                                      absl::StrCat("claims[", i, "]"));
    if (claim.what().empty()) problems.Add("what", "must state the claim");
    if (claim.source().empty()) {
      problems.Add("source", "must say where the claim is published");
    }
    if (claim.experiment().empty() || claim.metric().empty()) {
      problems.Add("", "must set `experiment` and `metric`");
    }
    if (claim.expectation_case() == Claim::EXPECTATION_NOT_SET) {
      problems.Add("",
                   "must set exactly one of near, at_least, at_most, "
                   "greater_than_experiment or less_than_experiment");
    }
    if (claim.has_near() && !claim.near().has_value()) {
      problems.Add("near.value", "must be set");
    }
    if (claim.near().tolerance() < 0) {
      problems.Add("near.tolerance", "must not be negative");
    }
  }
}

Table ClaimsTable(const Claims& claims,
                  const std::map<std::string, RunStatus>& runs) {
  Table table = {{"claim", "source", "published", "expected", "Regard",
                  "verdict", "conditions"}};
  for (const Claim& claim : claims.claims()) {
    const auto ours = Measure(runs, claim.experiment(), claim.metric());
    table.rows.push_back({claim.what(), claim.source(), claim.published(),
                          absl::StrCat(claim.metric(), " ", Expected(claim)),
                          ours.ok() ? FormatMetric(*ours) : "-",
                          ours.ok() ? VerdictOf(claim, *ours, runs)
                                    : std::string(ours.status().message()),
                          claim.conditions()});
  }
  return table;
}

}  // namespace regard
