#include "data/nadaraya_watson_data.h"

#include <algorithm>
#include <cmath>

#include "absl/status/statusor.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/nadaraya_watson_data.pb.h"

namespace regard {

double NadarayaWatsonTruth(double x, double exponent) {
  return 2.0 * std::sin(x) + std::pow(x, exponent);
}

RegressionData MakeNadarayaWatsonData(const NadarayaWatsonDataConfig& options,
                                      uint64_t seed) {
  RegressionData data;
  data.test_is_truth = true;

  const RandomStream positions(seed, "data/nadaraya_watson/x");
  Points& training = data.training;
  for (int i = 0; i < options.points(); ++i) {
    training.x.push_back(positions.UniformAt(i) * 5.0);
  }
  std::sort(training.x.begin(), training.x.end());
  const RandomStream noise(seed, "data/nadaraya_watson/noise");
  for (int i = 0; i < options.points(); ++i) {
    training.y.push_back(
        NadarayaWatsonTruth(training.x[i], options.exponent()) +
        options.noise() * noise.NormalAt(i));
  }
  for (int i = 0; i < 50; ++i) {
    const double x = i * 0.1;
    data.test.x.push_back(x);
    data.test.y.push_back(NadarayaWatsonTruth(x, options.exponent()));
  }
  return data;
}

namespace {

class NadarayaWatsonSource
    : public WithOptions<DataSource<RegressionData>, NadarayaWatsonDataConfig> {
 public:
  using WithOptions::WithOptions;

  absl::StatusOr<RegressionData> Load(
      const DataRequest& request) const override {
    return MakeNadarayaWatsonData(options_, request.seed);
  }
};

}  // namespace

REGARD_DATA_SOURCES(NadarayaWatsonData) {
  sources.Add<NadarayaWatsonSource>("noisy points of a curve");
}

}  // namespace regard
