// The curve and the noisy points that Nadaraya-Watson regression is shown on:
//   y = 2 sin(x) + x^exponent + noise.
//
// Zhang et al., "Dive into Deep Learning"; the options' defaults are edition
// 0.17's (section "nadaraya-watson").
#ifndef DATA_NADARAYA_WATSON_DATA_H_
#define DATA_NADARAYA_WATSON_DATA_H_

#include <cstdint>
#include <vector>

#include "data/nadaraya_watson_data.pb.h"

namespace regard {

struct Points {
  std::vector<double> x;
  std::vector<double> y;  // as many
};

struct NadarayaWatsonData {
  static constexpr char kName[] = "points of a curve";

  Points training;  // noisy; x rising, in [0, 5)
  Points test;      // on the curve itself, from 0 to 4.9 in steps of 0.1
};

// The curve without noise, x >= 0.
double NadarayaWatsonTruth(double x, double exponent);

// The same options and seed give the same points.
NadarayaWatsonData MakeNadarayaWatsonData(
    const NadarayaWatsonDataConfig& options, uint64_t seed);

}  // namespace regard

#endif  // DATA_NADARAYA_WATSON_DATA_H_
