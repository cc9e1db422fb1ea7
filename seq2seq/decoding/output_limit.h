// The greatest length of what a search writes.
#ifndef SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_
#define SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_

#include <cstdint>

#include "data/target_lengths.h"

namespace regard {

class SearchConfig;

// Ids, the ending one included, that an output has at most, of a source of
// `source_ids` ids; not positive if there is no room for one.
//
// With n ids of the source, max_length_ratio r and max_length m it is r n + m.
// A limit that is not set is 2 or 10. If neither is, outputs may be as long as
// the targets of the training: max(2 n + 10, min(L + 10, ceil(R n) + 1)), with
// `trained` L ids in the longest target, and the largest ratio R.
int64_t OutputLimit(const SearchConfig& search, int64_t source_ids,
                    const TargetLengths& trained);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_OUTPUT_LIMIT_H_
