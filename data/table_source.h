// Points of a regression from a CSV file.
#ifndef DATA_TABLE_SOURCE_H_
#define DATA_TABLE_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "data/nadaraya_watson_data.h"

namespace regard {

class TableConfig;

inline constexpr int64_t kMostTableRows = 1'000'000;
// That a target is predicted from.
inline constexpr int64_t kMostTableColumns = 4096;
inline constexpr int64_t kMostTableBytes = int64_t{512} << 20;  // unpacked

// Reads the file at `path` as `options` say, see table.proto. Points of a split
// are in the order of the file or, of one column, of their x. Errors are
// complete to print and say path:line:column of what is no finite number, of a
// row with more or fewer fields than the first, and of quotes that stay open.
// Notes name columns of which different values are equal to the model.
absl::StatusOr<NadarayaWatsonData> ReadTable(const std::string& path,
                                             const TableConfig& options,
                                             uint64_t seed);

}  // namespace regard

#endif  // DATA_TABLE_SOURCE_H_
