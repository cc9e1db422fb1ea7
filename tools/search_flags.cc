#include "tools/search_flags.h"

#include <climits>

#include "absl/strings/str_cat.h"
#include "files/json_text.h"
#include "google/protobuf/text_format.h"
#include "nn/config_problems.h"
#include "seq2seq/decoding/search_validation.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void FieldFlags::Number(const char* name, int min, int max, const char* help) {
  numbers_.emplace_back(name, -1);
  line_.Number(name, &numbers_.back().second, min, max, help);
}

void FieldFlags::Real(const char* name, double min, double max,
                      const char* help) {
  reals_.emplace_back(name, -1);
  line_.Real(name, &reals_.back().second, min, max, help);
}

void FieldFlags::SetIn(google::protobuf::Message* message) const {
  std::string fields;
  for (const auto& [name, value] : numbers_) {
    if (value >= 0) absl::StrAppend(&fields, name, ": ", value, "\n");
  }
  for (const auto& [name, value] : reals_) {
    if (value < 0) continue;
    absl::StrAppend(&fields, name, ": ", JsonNumber(value), "\n");
  }
  REGARD_CHECK(google::protobuf::TextFormat::MergeFromString(fields, message))
      << fields;
}

void AddSearchFlags(FieldFlags& flags) {
  flags.Number("beam", 1, kMaxBeam,
               "hypotheses kept by the search; 1 is greedy");
  flags.Number("n_best", 1, kMaxBeam, "translations of each sentence");
  flags.Real("length_penalty", 0, 10,
             "greater values favour longer translations");
  flags.Real("coverage_penalty", 0, 10,
             "greater values penalise words left untranslated");
  flags.Number("min_length", 0, 100000, "words of a translation at least");
  flags.Number("max_length", 1, 100000,
               "ids of a translation at most, its end included");
}

void AddSamplingFlags(FieldFlags& flags) {
  flags.Real("temperature", 0.01, 100,
             "of sampling; below 1 what is likely becomes likelier");
  flags.Number("top_k", 0, 10000000,
               "samples from so many of the likeliest only; 0: all");
  flags.Real("top_p", 1e-6, 1,
             "samples from the likeliest of this probability only");
  flags.Number("seed", 0, INT_MAX, "of sampling");
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
