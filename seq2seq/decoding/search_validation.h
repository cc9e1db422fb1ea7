// What can be wrong with the config of a search.
#ifndef SEQ2SEQ_DECODING_SEARCH_VALIDATION_H_
#define SEQ2SEQ_DECODING_SEARCH_VALIDATION_H_

#include "nn/config_problems.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

inline constexpr int kMaxBeam = 64;

// Paths are relative to `config`.
void ValidateSearch(const SearchConfig& config, ConfigProblems& problems);

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SEARCH_VALIDATION_H_
