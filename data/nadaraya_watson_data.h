// The curve and the noisy points that Nadaraya-Watson regression is shown on:
//   y = 2 sin(x) + x^exponent + noise.
//
// Zhang et al., "Dive into Deep Learning"; the options' defaults are edition
// 0.17's (section "nadaraya-watson").
#ifndef DATA_NADARAYA_WATSON_DATA_H_
#define DATA_NADARAYA_WATSON_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/column_scale.h"

namespace regard {

class NadarayaWatsonDataConfig;

struct Points {
  std::vector<double> x;  // [points, width]
  std::vector<double> y;  // [points]
  int64_t width = 1;

  int64_t size() const { return static_cast<int64_t>(y.size()); }
};

struct NadarayaWatsonData {
  static constexpr char kName[] = "points of a curve";

  Points training;
  Points dev;
  Points test;
  // What points are called where they are shown.
  std::vector<std::string> x_names = {"x"};  // as many as points are wide
  std::string y_name = "y";
  // How the columns of x are standardised, all or none, and y. The points are
  // not: they are as in the file.
  std::vector<ColumnScale> x_scales = {};
  ColumnScale y_scale = {};
  // Whether test points lie on the true curve, without noise.
  bool test_is_truth = false;
  std::map<std::string, std::string> digests;  // see Task::data_digests()
  std::vector<std::string> notes;              // see Task::Notes()
};

// The curve without noise, x >= 0.
double NadarayaWatsonTruth(double x, double exponent);

// The same options and seed give the same points: for training, noisy ones
// with x rising in [0, 5); for test, those of the curve itself from 0 to 4.9 in
// steps of 0.1.
NadarayaWatsonData MakeNadarayaWatsonData(
    const NadarayaWatsonDataConfig& options, uint64_t seed);

}  // namespace regard

#endif  // DATA_NADARAYA_WATSON_DATA_H_
