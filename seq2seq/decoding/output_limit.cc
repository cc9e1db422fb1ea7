#include "seq2seq/decoding/output_limit.h"

#include <algorithm>
#include <cmath>

#include "seq2seq/decoding/search.pb.h"

namespace regard {

namespace {

constexpr double kRatio = 2;
constexpr int64_t kLength = 10;

}  // namespace

int64_t OutputLimit(const SearchConfig& search, int64_t source_ids,
                    const TargetLengths& trained) {
  const auto ids = static_cast<double>(source_ids);
  const double ratio =
      search.has_max_length_ratio() ? search.max_length_ratio() : kRatio;
  const int64_t limit =
      static_cast<int64_t>(ratio * ids) +
      (search.has_max_length() ? search.max_length() : kLength);
  if (search.has_max_length_ratio() || search.has_max_length()) return limit;
  const double in_proportion = std::ceil(trained.ratio * ids) + 1;
  const double longest = static_cast<double>(trained.longest + kLength);
  return std::max(limit,
                  static_cast<int64_t>(std::min(longest, in_proportion)));
}

}  // namespace regard
