// Points of a regression, and the textbook problem of Nadaraya-Watson
// regression:
//   y = 2 * sin(x) + x^exponent + noise.
//
// Source: Zhang et al., "Dive into Deep Learning". The options have the
// defaults of edition 0.17, section "nadaraya-watson".
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

struct RegressionData {
  static constexpr char kName[] = "points of a curve";

  Points training;
  Points dev;
  Points test;
  // The names of the columns in reports.
  std::vector<std::string> x_names = {"x"};  // one per column of x
  std::string y_name = "y";
  // The scales that standardize the columns of x. Empty if they are not
  // standardized. The points keep the values of the file.
  std::vector<ColumnScale> x_scales = {};
  // The scale that standardizes y. The points keep the values of the file.
  ColumnScale y_scale = {};
  // Whether test points lie on the true curve, without noise.
  bool test_is_truth = false;
  std::map<std::string, std::string> digests;  // see Task::data_digests()
  std::vector<std::string> notes;              // see Task::Notes()
};

// The curve without noise, for x >= 0.
double NadarayaWatsonTruth(double x, double exponent);

// Returns the points, which depend only on the options and the seed. Training
// points have noise, and are in ascending order of x, in [0, 5). Test points
// lie on the curve, for x from 0 to 4.9 in steps of 0.1.
RegressionData MakeNadarayaWatsonData(const NadarayaWatsonDataConfig& options,
                                      uint64_t seed);

}  // namespace regard

#endif  // DATA_NADARAYA_WATSON_DATA_H_
