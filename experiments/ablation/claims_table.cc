#include "experiments/ablation/claims_table.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/run/metric.h"

namespace regard {
namespace {

// A metric of a run, or why there is none.
struct Measured {
  std::optional<double> value;
  std::string missing;
};

Measured Measure(const std::map<std::string, RunStatus>& runs,
                 const std::string& experiment, const std::string& metric) {
  const auto run = runs.find(experiment);
  if (run == runs.end()) return {std::nullopt, "not run"};
  if (run->second.state != RunState::kFinished)
    return {std::nullopt, "run failed"};
  const auto found = run->second.metrics.find(metric);
  if (found == run->second.metrics.end()) {
    return {std::nullopt, "no such metric"};
  }
  return {found->second, ""};
}

std::string Expected(const Claim& claim) {
  switch (claim.expectation_case()) {
    case Claim::kNear:
      return absl::StrFormat("%s ± %s", FormatMetric(claim.near().value()),
                             FormatMetric(claim.near().tolerance()));
    case Claim::kAtLeast:
      return absl::StrCat(">= ", FormatMetric(claim.at_least()));
    case Claim::kAtMost:
      return absl::StrCat("<= ", FormatMetric(claim.at_most()));
    case Claim::kGreaterThanExperiment:
      return absl::StrCat("> ", claim.greater_than_experiment());
    case Claim::kLessThanExperiment:
      return absl::StrCat("< ", claim.less_than_experiment());
    case Claim::EXPECTATION_NOT_SET:
      break;
  }
  return "";
}

std::string Verdict(bool holds) {
  return holds ? "borne out" : "not borne out";
}

std::string VerdictOf(const Claim& claim, double ours,
                      const std::map<std::string, RunStatus>& runs) {
  switch (claim.expectation_case()) {
    case Claim::kNear:
      return Verdict(std::abs(ours - claim.near().value()) <=
                     claim.near().tolerance());
    case Claim::kAtLeast:
      return Verdict(ours >= claim.at_least());
    case Claim::kAtMost:
      return Verdict(ours <= claim.at_most());
    default:
      break;
  }
  const bool greater = claim.has_greater_than_experiment();
  const std::string& other_label =
      greater ? claim.greater_than_experiment() : claim.less_than_experiment();
  const Measured other = Measure(runs, other_label, claim.metric());
  if (!other.value.has_value()) {
    return absl::StrCat(other_label, ": ", other.missing);
  }
  return absl::StrCat(
      Verdict(greater ? ours > *other.value : ours < *other.value), " (",
      FormatMetric(*other.value), " there)");
}

}  // namespace

void ValidateClaims(const Claims& claims, ConfigProblems& problems) {
  for (int i = 0; i < claims.claims_size(); ++i) {
    const Claim& claim = claims.claims(i);
    const ConfigProblems::Scope scope(problems,
                                      absl::StrCat("claims[", i, "]"));
    if (claim.what().empty()) problems.Add("what", "say what is claimed");
    if (claim.source().empty()) {
      problems.Add("source", "say where it is published");
    }
    if (claim.experiment().empty() || claim.metric().empty()) {
      problems.Add("", "a claim names an experiment and a metric of it");
    }
    if (claim.expectation_case() == Claim::EXPECTATION_NOT_SET) {
      problems.Add("",
                   "say when it is borne out: near, at_least, at_most, "
                   "greater_than_experiment or less_than_experiment");
    }
    if (claim.near().tolerance() < 0) {
      problems.Add("near.tolerance", "must not be negative");
    }
  }
}

Table ClaimsTable(const Claims& claims,
                  const std::map<std::string, RunStatus>& runs) {
  Table table;
  table.header = {"claim", "source",  "theirs",    "expected",
                  "ours",  "verdict", "conditions"};
  for (const Claim& claim : claims.claims()) {
    const Measured ours = Measure(runs, claim.experiment(), claim.metric());
    table.rows.push_back(
        {claim.what(), claim.source(), claim.published(),
         absl::StrCat(claim.metric(), " ", Expected(claim)),
         ours.value.has_value() ? FormatMetric(*ours.value) : "-",
         ours.value.has_value() ? VerdictOf(claim, *ours.value, runs)
                                : ours.missing,
         claim.conditions()});
  }
  return table;
}

}  // namespace regard
