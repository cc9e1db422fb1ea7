// Flags of programs that search for texts: named like the fields that they set.
#ifndef TOOLS_SEARCH_FLAGS_H_
#define TOOLS_SEARCH_FLAGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "options/command_line.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

struct SearchFlags {
  bool sample = false;
  SearchConfig search = {};  // what flags set of it
  SamplingConfig sampling = {};

  bool any() const {
    return sample || search.ByteSizeLong() > 0 || sampling.ByteSizeLong() > 0;
  }
};

// --beam, --n_best, --length_penalty, --repetition_penalty, --no_repeat_ngram,
// --sample, and those of sampling: --temperature, --top_k, --top_p, --min_p and
// --seed.
void AddSearchFlags(CommandLine& line, SearchFlags* flags);

// Replaces in `search` what flags have given, and validates the whole. An error
// is complete to print.
absl::Status ReplaceSearch(const SearchFlags& flags, SearchConfig* search);

// The same of a program that samples unless there is --beam: all but --sample.
void AddGenerationFlags(CommandLine& line, SearchFlags* flags);
absl::StatusOr<SearchConfig> GenerationSearch(const SearchFlags& flags);

}  // namespace regard

#endif  // TOOLS_SEARCH_FLAGS_H_
