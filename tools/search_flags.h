// Flags of programs that generate text by search or sampling. A flag has the
// name of the field that it sets.
#ifndef TOOLS_SEARCH_FLAGS_H_
#define TOOLS_SEARCH_FLAGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "options/command_line.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

struct SearchFlags {
  bool sample = false;
  SearchConfig search = {};  // contains only the fields that flags have set
  SamplingConfig sampling = {};

  bool any() const {
    return sample || search.ByteSizeLong() > 0 || sampling.ByteSizeLong() > 0;
  }
};

// Adds --beam, --n_best, --length_penalty, --repetition_penalty,
// --no_repeat_ngram, --sample, --temperature, --top_k, --top_p, --min_p and
// --seed.
void AddSearchFlags(CommandLine& line, SearchFlags* flags);

// Replaces the fields of `search` that flags have set, and validates the
// result. Error messages can be printed as they are.
absl::Status ApplySearchFlags(const SearchFlags& flags, SearchConfig* search);

// Adds all flags except --sample, for programs that sample unless --beam is
// given.
void AddGenerationFlags(CommandLine& line, SearchFlags* flags);
absl::StatusOr<SearchConfig> GenerationSearch(const SearchFlags& flags);

}  // namespace regard

#endif  // TOOLS_SEARCH_FLAGS_H_
