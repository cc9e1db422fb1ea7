#include "seq2seq/decoding/search_validation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace regard {

void ValidateSearch(const SearchConfig& config, ConfigProblems& problems) {
  problems.RequireInRange("beam", config.beam(), 1, kMaxBeam);
  problems.RequireInRange("length_penalty", config.length_penalty(), 0, 10);
  problems.RequireInRange("coverage_penalty", config.coverage_penalty(), 0, 10);
  problems.RequireInRange("min_length", config.min_length(), 0, 100000);
  problems.RequireInRange("max_length_ratio", config.max_length_ratio(), 0,
                          100);
  problems.RequireInRange("max_length", config.max_length(), 0, 100000);
  if (config.max_length_ratio() == 0 &&
      config.max_length() <= std::max(config.min_length(), 0)) {
    problems.Add("max_length",
                 absl::StrCat("leaves no room for ", config.min_length(),
                              " words and <eos>"));
  }
  problems.RequireInRange("n_best", config.n_best(), 1, kMaxBeam);
  if (config.ensemble_mean() == SearchConfig::ENSEMBLE_MEAN_UNSPECIFIED) {
    problems.Add("ensemble_mean", "must be PROBABILITIES or LOG_PROBABILITIES");
  }
  if (!config.has_sampling()) {
    if (config.beam() > 0 && config.n_best() > config.beam()) {
      problems.Add("n_best",
                   absl::StrCat("a beam of ", config.beam(), " cannot find ",
                                config.n_best(), " hypotheses"));
    }
    return;
  }
  if (config.beam() > 1) {
    problems.Add("beam", "sampling has no beam; n_best is the number drawn");
  }
  const ConfigProblems::Scope scope(problems, "sampling");
  const SamplingConfig& sampling = config.sampling();
  problems.RequireInRange("temperature", sampling.temperature(), 0.01, 100);
  problems.RequireInRange("top_k", sampling.top_k(), 0, 10000000);
  problems.RequireInRange("top_p", sampling.top_p(), 1e-6, 1);
}

}  // namespace regard
