// What a config asks of the sites of a model (intervention.proto), and whether
// the model has them.
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

struct SiteRequests {
  const google::protobuf::RepeatedPtrField<Intervention>& intervene;
  const google::protobuf::RepeatedPtrField<SiteStatistic>& probe;

  bool empty() const { return intervene.empty() && probe.empty(); }
};

// Whether a site is of attention weights.
bool IsWeights(absl::string_view site);
// Whether it is of attention weights alone.
bool IsOfWeights(const Replacement& replace);
bool IsOfWeights(SiteStatistic::Statistic statistic);
// Whether, at a site of attention weights, it is one of statistics of rows
// (nn/row_statistics.h), for which the weights need not exist.
bool IsOfRows(SiteStatistic::Statistic statistic);

// Adds what is wrong with the requests whatever the model is, at `intervene[i]`
// and `probe[i]`.
void ValidateSiteRequests(const SiteRequests& requests,
                          ConfigProblems& problems);

// Adds the requests that do not fit the sites of `model`: patterns of no site,
// heads that are not there, and what is of attention weights alone. Runs the
// model once, unless there are no requests. REQUIRES: requests that are valid.
void ValidateSites(const SiteRequests& requests, uint64_t seed,
                   Model<float>& model, ConfigProblems& problems);

// The sites of a training pass over a few examples, or, where there are none,
// of an evaluation, with the shapes of those that are of one of `patterns`; of
// others the shape is that of a scalar.
using SiteShapes = std::map<std::string, Shape>;
SiteShapes SitesOf(Model<float>& model, uint64_t seed,
                   std::vector<std::string> patterns);

// Says that no site is of `pattern`, and which is the nearest.
std::string NoSuchSite(const SiteShapes& sites, absl::string_view pattern);

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_SITE_REQUESTS_H_
