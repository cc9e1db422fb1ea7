#include "tools/search_flags.h"

#include <climits>

#include "absl/strings/str_cat.h"
#include "nn/config_problems.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

void AddSearchFlags(CommandLine& line, SearchConfig* search) {
  line.Field("beam", search, 1, kMaxBeam,
             "hypotheses kept by the search; 1 is greedy");
  line.Field("n_best", search, 1, kMaxBeam, "translations of each sentence");
  line.Field("length_penalty", search, 0, 10,
             "greater values favour longer translations");
  line.Field("coverage_penalty", search, 0, 10,
             "greater values penalise words left untranslated");
  line.Field("min_length", search, 0, 100000,
             "words of a translation at least");
  line.Field("max_length", search, 1, 100000,
             "ids of a translation at most, its end included");
}

void AddSamplingFlags(CommandLine& line, SamplingConfig* sampling) {
  line.Field("temperature", sampling, 0.01, 100,
             "of sampling; below 1 what is likely becomes likelier");
  line.Field("top_k", sampling, 0, 10000000,
             "samples from so many of the likeliest only; 0: all");
  line.Field("top_p", sampling, 1e-6, 1,
             "samples from the likeliest of this probability only");
  line.Field("seed", sampling, 0, INT_MAX, "of sampling");
}

absl::Status ReplaceSearch(const SearchConfig& given, bool sample,
                           const SamplingConfig& sampling,
                           SearchConfig* search) {
  if (sample) {
    search->mutable_sampling();
    search->clear_beam();
  }
  search->MergeFrom(given);
  if (search->has_sampling()) {
    search->mutable_sampling()->MergeFrom(sampling);
  } else if (sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p and --seed need --sample");
  }
  ConfigProblems problems;
  ValidateSearch(*search, problems);
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& problem = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat("error: --", problem.path, ": ", problem.message));
}

}  // namespace regard
