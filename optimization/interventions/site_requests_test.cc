#include "optimization/interventions/site_requests.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "google/protobuf/repeated_field.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {
namespace {

class BiasedModel : public Model<float> {
 public:
  BiasedModel() { store_.Finalize(0); }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return 2; }
  void Loss(Forward<float>& forward, absl::Span<const int64_t>,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    sums[0] = Sum(
        forward.Site("distance_bias", forward.tape().Full({1, 3, 1, 7}, 1)));
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  ParameterStore<float> store_;
};

TEST(ValidateSitesTest, ABiasOfDistancesHasNoMean) {
  google::protobuf::RepeatedPtrField<Intervention> intervene;
  const google::protobuf::RepeatedPtrField<SiteStatistic> hook;
  for (int i = 0; i < 2; ++i) {
    intervene.Add()->set_site("distance_bias");
    intervene[i].set_head(2);
  }
  intervene[0].mutable_replace()->mutable_zeros();
  intervene[1].mutable_replace()->mutable_mean();
  BiasedModel model;
  ConfigProblems problems;
  ValidateSites({intervene, hook}, 0, model, problems);
  ASSERT_EQ(problems.problems().size(), 1);
  EXPECT_EQ(problems.problems()[0].path, "intervene[1].replace");
  EXPECT_EQ(problems.problems()[0].message,
            "'distance_bias' cannot be replaced by a mean: its keys differ "
            "between examples");
}

}  // namespace
}  // namespace regard
