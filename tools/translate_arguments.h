// What the command line of the translating program says.
#ifndef TOOLS_TRANSLATE_ARGUMENTS_H_
#define TOOLS_TRANSLATE_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "autodiff/worker_pool.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

struct TranslateArguments {
  std::vector<std::string> runs;
  bool align = false;
  bool score = false;
  bool replace_unknown = false;
  std::vector<std::string> sentences;
  int threads = HardwareThreads();
  // Of the search; below 0: not given.
  int beam = -1;
  int n_best = -1;
  int min_length = -1;
  int max_length = -1;
  double length_penalty = -1;
  double coverage_penalty = -1;
  bool log_probabilities = false;
  bool sample = false;
  double temperature = -1;
  int top_k = -1;
  double top_p = -1;
  int seed = -1;

  // Whether one of the search is given.
  bool HasSearchFlag() const {
    return beam >= 0 || n_best >= 0 || min_length >= 0 || max_length >= 0 ||
           length_penalty >= 0 || coverage_penalty >= 0 || log_probabilities ||
           sample || temperature >= 0 || top_k >= 0 || top_p >= 0 || seed >= 0;
  }
};

// Errors of both are complete to print.
absl::Status ParseTranslateArguments(int argc, char** argv,
                                     TranslateArguments* arguments);

// Replaces what the flags of a search say, and validates the whole.
absl::Status ApplySearchFlags(const TranslateArguments& arguments,
                              SearchConfig* search);

}  // namespace regard

#endif  // TOOLS_TRANSLATE_ARGUMENTS_H_
