// The maximum length of the output of a search.
#ifndef SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_
#define SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_

#include <cstdint>

#include "data/target_lengths.h"

namespace regard {

class SearchConfig;

// Returns the maximum number of ids of an output, <eos> included, for a source
// of `source_ids` ids. At most 0 if no id fits.
//
// For n source ids, the limit is max_length_ratio * n + max_length. If only one
// of these fields is set, the other field has its default: 2 for the ratio, 10
// for the length. If neither field is set, outputs may be as long as the
// training targets:
//
//   max(2 * n + 10, min(L + 10, ceil(R * n) + 1))
//
// `trained` contains L, the number of ids of the longest target, and R, the
// largest ratio of target ids to source ids.
int64_t OutputLimit(const SearchConfig& search, int64_t source_ids,
                    const TargetLengths& trained);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_
