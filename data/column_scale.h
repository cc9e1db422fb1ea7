// The mean and standard deviation by which a column is standardized.
#ifndef DATA_COLUMN_SCALE_H_
#define DATA_COLUMN_SCALE_H_

namespace regard {

// Models compute with (value - mean) / deviation. With the default scale, the
// result is the value itself.
struct ColumnScale {
  double mean = 0;
  double deviation = 1;  // standard deviation, > 0

  double Standardize(double value) const { return (value - mean) / deviation; }
  double Restore(double standardized) const {
    return mean + deviation * standardized;
  }
  friend bool operator==(const ColumnScale&, const ColumnScale&) = default;
};

}  // namespace regard

#endif  // DATA_COLUMN_SCALE_H_
