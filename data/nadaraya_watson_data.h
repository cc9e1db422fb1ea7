// The curve and the noisy points that Nadaraya-Watson regression is shown on:
//   y = 2 sin(x) + x^exponent + noise.
//
// Zhang et al., "Dive into Deep Learning"; the options' defaults are edition
// 0.17's (section "nadaraya-watson").
#ifndef DATA_NADARAYA_WATSON_DATA_H_
#define DATA_NADARAYA_WATSON_DATA_H_

#include <cstdint>
#include <vector>

namespace regard {

struct NadarayaWatsonOptions {
  int64_t training_points = 50;
  double max_x = 5.0;  // points lie in [0, max_x)
  double exponent = 0.8;
  double noise = 0.5;      // standard deviation of the training points
  double test_step = 0.1;  // between test points, from 0 up to max_x
};

// Points of the plane.
struct Points {
  std::vector<double> x;
  std::vector<double> y;  // as many
};

struct NadarayaWatsonData {
  static constexpr char kName[] = "points of a curve";

  Points training;  // noisy; x rising
  Points test;      // on the curve itself, evenly spaced
};

// The curve without noise, x >= 0.
double NadarayaWatsonTruth(double x, double exponent);

// The same options and seed give the same points.
NadarayaWatsonData MakeNadarayaWatsonData(const NadarayaWatsonOptions& options,
                                          uint64_t seed);

}  // namespace regard

#endif  // DATA_NADARAYA_WATSON_DATA_H_
