// Parses hook requests of a config from text, for tests.
#ifndef OPTIMIZATION_INTERVENTIONS_REQUESTS_IN_TEXT_H_
#define OPTIMIZATION_INTERVENTIONS_REQUESTS_IN_TEXT_H_

#include <string>

#include "google/protobuf/repeated_field.h"
#include "google/protobuf/text_format.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/interventions/site_requests.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

struct SiteRequestsBuilder {
  google::protobuf::RepeatedPtrField<Intervention> intervene;
  google::protobuf::RepeatedPtrField<SiteStatistic> hook;

  SiteRequestsBuilder& Intervene(const std::string& text) {
    REGARD_CHECK(
        google::protobuf::TextFormat::ParseFromString(text, intervene.Add()));
    return *this;
  }
  SiteRequestsBuilder& Probe(const std::string& text) {
    REGARD_CHECK(
        google::protobuf::TextFormat::ParseFromString(text, hook.Add()));
    return *this;
  }
  operator SiteRequestsView() const { return {intervene, hook}; }
};

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_REQUESTS_IN_TEXT_H_
