// Flags that set fields of searches.
#ifndef TOOLS_SEARCH_FLAGS_H_
#define TOOLS_SEARCH_FLAGS_H_

#include "absl/status/status.h"
#include "experiments/config/command_line.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

// Flags named like the fields that they set; the others stay as they are.
void AddSearchFlags(CommandLine& line, SearchConfig* search);
void AddSamplingFlags(CommandLine& line, SamplingConfig* sampling);

// Replaces in `search` what flags have `given`, and validates the whole.
// `sample` turns to sampling. Errors are complete to print.
absl::Status ReplaceSearch(const SearchConfig& given, bool sample,
                           const SamplingConfig& sampling,
                           SearchConfig* search);

}  // namespace regard

#endif  // TOOLS_SEARCH_FLAGS_H_
