// The hook requests of a config (intervention.proto), and their validation.
#ifndef OPTIMIZATION_INTERVENTIONS_SITE_REQUESTS_H_
#define OPTIMIZATION_INTERVENTIONS_SITE_REQUESTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "autodiff/shape.h"
#include "google/protobuf/repeated_field.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

struct SiteRequestsView {
  const google::protobuf::RepeatedPtrField<Intervention>& intervene;
  const google::protobuf::RepeatedPtrField<SiteStatistic>& hook;

  bool empty() const { return intervene.empty() && hook.empty(); }
};

// Whether the values at a hook point are attention weights.
bool IsWeightsSite(absl::string_view site);
// Whether the replacement or statistic applies only to attention weights.
bool AppliesOnlyToWeights(const Replacement& replace);
bool AppliesOnlyToWeights(SiteStatistic::Statistic statistic);
// Whether the statistic can be computed from statistics of the rows of
// attention weights (nn/row_statistics.h). The weights then need not be stored.
bool NeedsOnlyRowStatistics(SiteStatistic::Statistic statistic);

// Adds the problems that can be found without the model, at `intervene[i]` and
// `probe[i]`.
void ValidateSiteRequests(const SiteRequestsView& requests,
                          ConfigProblems& problems);

// Adds the problems of requests that do not fit the hook points of `model`:
// patterns that match no hook point, heads that do not exist, and requests for
// attention weights at hook points with other values. Runs the model once,
// unless there are no requests. The requests must be valid.
void ValidateSites(const SiteRequestsView& requests, uint64_t seed,
                   Model<float>& model, ConfigProblems& problems);

// Returns the hook points of a training pass over a few examples, or of an
// evaluation if there are no training examples. If a hook point matches one of
// `patterns`, the result contains the shape of its value. For other hook
// points, the result contains the shape of a scalar.
using SiteShapes = std::map<std::string, Shape>;
SiteShapes RecordSiteShapes(Model<float>& model, uint64_t seed,
                            std::vector<std::string> patterns);

// Returns an error message for a pattern that matches no hook point. The
// message suggests the nearest hook point.
std::string NoSuchSiteMessage(const SiteShapes& sites,
                              absl::string_view pattern);

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_SITE_REQUESTS_H_
