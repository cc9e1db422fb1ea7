#include "data/nadaraya_watson_data.h"

#include <algorithm>
#include <cmath>

#include "absl/status/statusor.h"
#include "autodiff/random.h"
#include "data/data_source.h"
#include "data/nadaraya_watson_data.pb.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

double NadarayaWatsonTruth(double x, double exponent) {
  return 2.0 * std::sin(x) + std::pow(x, exponent);
}

NadarayaWatsonData MakeNadarayaWatsonData(const NadarayaWatsonOptions& options,
                                          uint64_t seed) {
  REGARD_CHECK_GE(options.training_points, 1);
  REGARD_CHECK_GT(options.max_x, 0.0);
  REGARD_CHECK_GE(options.noise, 0.0);
  REGARD_CHECK_GT(options.test_step, 0.0);
  NadarayaWatsonData data;

  const RandomStream positions(seed, "data/nadaraya_watson/x");
  Points& training = data.training;
  for (int64_t i = 0; i < options.training_points; ++i) {
    training.x.push_back(positions.UniformAt(i) * options.max_x);
  }
  std::sort(training.x.begin(), training.x.end());
  const RandomStream noise(seed, "data/nadaraya_watson/noise");
  for (int64_t i = 0; i < options.training_points; ++i) {
    training.y.push_back(NadarayaWatsonTruth(training.x[i], options.exponent) +
                         options.noise * noise.NormalAt(i));
  }

  // A last point that reaches max_x by rounding alone is not one.
  const double steps = options.max_x / options.test_step;
  const auto test_points = static_cast<int64_t>(std::ceil(steps - 1e-9));
  for (int64_t i = 0; i < test_points; ++i) {
    const double x = static_cast<double>(i) * options.test_step;
    data.test.x.push_back(x);
    data.test.y.push_back(NadarayaWatsonTruth(x, options.exponent));
  }
  return data;
}

namespace {

class NadarayaWatsonSource : public DataSource<NadarayaWatsonData> {
 public:
  using Options = NadarayaWatsonDataConfig;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.RequireInRange("points", options.points(), 2, 1e5);
    problems.RequireInRange("noise", options.noise(), 0, 100);
    problems.RequireInRange("exponent", options.exponent(), 0, 10);
  }

  explicit NadarayaWatsonSource(const Options& options) : options_(options) {}

  absl::StatusOr<NadarayaWatsonData> Load(
      const DataRequest& request) const override {
    return MakeNadarayaWatsonData({.training_points = options_.points(),
                                   .exponent = options_.exponent(),
                                   .noise = options_.noise()},
                                  request.seed);
  }

 private:
  const Options options_;
};

}  // namespace

REGARD_DATA_SOURCES(NadarayaWatsonData) {
  sources.Add<NadarayaWatsonSource>("noisy points of a curve");
}

}  // namespace regard
