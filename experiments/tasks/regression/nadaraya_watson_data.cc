#include "experiments/tasks/regression/nadaraya_watson_data.h"

#include <algorithm>
#include <cmath>

#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

NadarayaWatsonOptions NadarayaWatsonEdition1() {
  return {.training_points = 40, .exponent = 1.0, .noise = 1.0};
}

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

}  // namespace regard
