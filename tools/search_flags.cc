#include "tools/search_flags.h"

#include <climits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "options/config_problems.h"
#include "seq2seq/seq2seq_validation.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Adds the flags of beam search. --help shows `otherwise` as the default of a
// flag, or the default of the field if `otherwise` is empty.
void AddBeamFlags(CommandLine& line, SearchConfig* search,
                  absl::string_view beam_otherwise,
                  absl::string_view otherwise) {
  line.Field("beam", search, 1, kMaxBeam,
             "number of hypotheses that beam search keeps; 1 is greedy search",
             beam_otherwise);
  line.Field("n_best", search, 1, kMaxBeam,
             "number of texts to print for each input", otherwise);
  line.Field("length_penalty", search, 0, 10,
             "length penalty of beam search; larger values favour longer texts",
             otherwise);
  line.Field(
      "repetition_penalty", search, 0.01, 100,
      "penalty for tokens that are already in the text; above 1, they become "
      "less likely; 1: off",
      otherwise);
  line.Field("no_repeat_ngram", search, 0, 100000,
             "never repeats an n-gram of this length; 0: off", otherwise);
}

void AddSamplingFlags(CommandLine& line, SamplingConfig* sampling,
                      absl::string_view otherwise) {
  line.Field("temperature", sampling, 0.01, 100,
             "sampling temperature; below 1, likely tokens become likelier",
             otherwise);
  line.Field("top_k", sampling, 0, 10000000,
             "number of most likely tokens to sample from; 0: all", otherwise);
  line.Field("top_p", sampling, 1e-6, 1,
             "samples from the smallest set of most likely tokens whose "
             "probabilities sum to at least this value",
             otherwise);
  line.Field("min_p", sampling, 0, 1,
             "samples from tokens with at least this fraction of the highest "
             "probability; 0: all",
             otherwise);
  line.Field("seed", sampling, 0, INT_MAX, "random seed of sampling",
             otherwise);
}

}  // namespace

void AddSearchFlags(CommandLine& line, SearchFlags* flags) {
  AddBeamFlags(line, &flags->search, kRunConfigDefault, kRunConfigDefault);
  line.Switch("sample", &flags->sample,
              "samples texts instead of searching for the most likely ones");
  AddSamplingFlags(line, &flags->sampling, kRunConfigDefault);
}

absl::Status ApplySearchFlags(const SearchFlags& flags, SearchConfig* search) {
  if (flags.sample) {
    if (flags.search.beam() > 1) {
      return absl::InvalidArgumentError(
          "error: --beam has no effect on sampling; remove it, or set the "
          "number of samples with --n_best");
    }
    search->mutable_sampling();
    search->clear_beam();
  }
  search->MergeFrom(flags.search);
  if (search->has_sampling()) {
    search->mutable_sampling()->MergeFrom(flags.sampling);
  } else if (flags.sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p, --min_p and --seed require "
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
  AddBeamFlags(line, &flags->search, "texts are sampled", "");
  AddSamplingFlags(line, &flags->sampling, "");
}

absl::StatusOr<SearchConfig> GenerationSearch(const SearchFlags& flags) {
  const bool beam = flags.search.has_beam();
  if (beam && flags.sampling.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "error: --temperature, --top_k, --top_p, --min_p and --seed apply only "
        "to sampling; remove them or --beam");
  }
  if (!beam && flags.search.n_best() == 1 &&
      flags.search.has_length_penalty()) {
    return absl::InvalidArgumentError(
        "error: --length_penalty requires --beam or --n_best: it only ranks "
        "several texts");
  }
  SearchFlags asked = flags;
  asked.sample = !beam;
  SearchConfig search;
  REGARD_RETURN_IF_ERROR(ApplySearchFlags(asked, &search));
  return search;
}

}  // namespace regard
