#include "tools/search_flags.h"

#include <climits>
#include <string>

#include "absl/strings/str_cat.h"
#include "nn/config_problems.h"
#include "seq2seq/seq2seq_validation.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

void AddBeamFlags(CommandLine& line, SearchConfig* search) {
  line.Field("beam", search, 1, kMaxBeam,
             "hypotheses kept by the search; 1 is greedy");
  line.Field("n_best", search, 1, kMaxBeam, "texts written for each input");
  line.Field("length_penalty", search, 0, 10,
             "greater values favour longer texts");
  line.Field("repetition_penalty", search, 0.01, 100,
             "above 1, what the text has already becomes less likely");
  line.Field("no_repeat_ngram", search, 0, 100000,
             "no so many ids in succession occur twice; 0: off");
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

}  // namespace

void AddSearchFlags(CommandLine& line, SearchFlags* flags) {
  AddBeamFlags(line, &flags->search);
  line.Switch("sample", &flags->sample,
              "draws texts from the model's distribution");
  AddSamplingFlags(line, &flags->sampling);
}

absl::Status ReplaceSearch(const SearchFlags& flags, SearchConfig* search) {
  if (flags.sample) {
    if (flags.search.beam() > 1) {
      return absl::InvalidArgumentError(
          "error: --beam: sampling has no beam; --n_best is the number drawn");
    }
    search->mutable_sampling();
    search->clear_beam();
  }
  search->MergeFrom(flags.search);
  if (search->has_sampling()) {
    search->mutable_sampling()->MergeFrom(flags.sampling);
  } else if (flags.sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p, --min_p and --seed need "
        "--sample");
  }
  ConfigProblems problems;
  ValidateSearch(*search, problems);
  if (problems.ok()) return absl::OkStatus();
  const ConfigProblems::Problem& problem = problems.problems().front();
  return absl::InvalidArgumentError(
      absl::StrCat("error: --", problem.path, ": ", problem.message));
}

void AddGenerationFlags(CommandLine& line, SearchFlags* flags) {
  AddBeamFlags(line, &flags->search);
  AddSamplingFlags(line, &flags->sampling);
}

absl::StatusOr<SearchConfig> GenerationSearch(const SearchFlags& flags) {
  const bool beam = flags.search.has_beam();
  if (beam && flags.sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p, --min_p and --seed draw "
        "texts; "
        "with --beam none is drawn");
  }
  if (!beam && flags.search.n_best() == 1 &&
      flags.search.has_length_penalty()) {
    return absl::InvalidArgumentError(
        "error: --length_penalty compares texts: it needs --beam or --n_best");
  }
  SearchFlags asked = flags;
  asked.sample = !beam;
  SearchConfig search;
  REGARD_RETURN_IF_ERROR(ReplaceSearch(asked, &search));
  return search;
}

}  // namespace regard
