// Reads points of a regression from a CSV file.
#ifndef DATA_TABLE_SOURCE_H_
#define DATA_TABLE_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "data/nadaraya_watson_data.h"

namespace regard {

class TableConfig;

inline constexpr int64_t kMaxTableRows = 1'000'000;
// The maximum number of input columns.
inline constexpr int64_t kMaxTableColumns = 4096;
inline constexpr int64_t kMaxTableBytes = int64_t{512} << 20;  // unpacked

// Reads the file at `path` as configured by `options` (table.proto). Points of
// a split are in the order of the file. If there is only one input column,
// points are in ascending order of x instead. Notes name columns in which
// different values become equal in the model.
//
// Errors are ready to print and begin with path:line:column. They report:
//
// * fields that are not finite numbers,
// * rows with more or fewer fields than the first row,
// * quotes that are not closed.
absl::StatusOr<RegressionData> ReadTable(const std::string& path,
                                         const TableConfig& options,
                                         uint64_t seed);

}  // namespace regard

#endif  // DATA_TABLE_SOURCE_H_
