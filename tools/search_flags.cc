#include "tools/search_flags.h"

#include <climits>
#include <string>

#include "absl/strings/str_cat.h"
#include "nn/config_problems.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

void AddSearchFlags(CommandLine& line, SearchFlags* flags) {
  line.Field("beam", &flags->search, 1, kMaxBeam,
             "hypotheses kept by the search; 1 is greedy");
  line.Field("n_best", &flags->search, 1, kMaxBeam,
             "texts written for each input");
  line.Field("length_penalty", &flags->search, 0, 10,
             "greater values favour longer texts");
  line.Field("repetition_penalty", &flags->search, 0.01, 100,
             "above 1, what the text has already becomes less likely");
  line.Field("no_repeat_ngram", &flags->search, 0, 100000,
             "no so many ids in succession occur twice; 0: off");
  line.Switch("sample", &flags->sample,
              "draws texts from the model's distribution");
  AddSamplingFlags(line, &flags->sampling);
}

void AddSamplingFlags(CommandLine& line, SamplingConfig* sampling) {
  line.Field("temperature", sampling, 0.01, 100,
             "of sampling; below 1 what is likely becomes likelier");
  line.Field("top_k", sampling, 0, 10000000,
             "samples from so many of the likeliest only; 0: all");
  line.Field("top_p", sampling, 1e-6, 1,
             "samples from the likeliest of this probability only");
  line.Field("min_p", sampling, 0, 1,
             "samples from what has this share of the likeliest's probability "
             "only; 0: all");
  line.Field("seed", sampling, 0, INT_MAX, "of sampling");
}

absl::Status ReplaceSearch(const SearchFlags& flags, SearchConfig* search) {
  if (flags.sample) {
    search->mutable_sampling();
    search->clear_beam();
  }
  search->MergeFrom(flags.search);
  if (search->has_sampling()) {
    search->mutable_sampling()->MergeFrom(flags.sampling);
  } else if (flags.sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p, --min_p and --seed "
        "need --sample");
  }
  ConfigProblems problems;
  ValidateSearch(*search, problems);
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& problem = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat("error: --", problem.path, ": ", problem.message));
}

}  // namespace regard
