#include "data/pairs/pairs_validation.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/pairs/pairs.pb.h"
#include "data/text/subwords.pb.h"

namespace regard {

namespace {

void ValidateFiles(const std::string& path, const PairFilesConfig& files,
                   ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, path);
  const bool lines = files.has_source() || files.has_target();
  if (files.has_path() == lines ||
      (lines && (files.source().empty() || files.target().empty())) ||
      (!lines && files.path().empty())) {
    problems.Add(
        "", absl::StrCat("requires either `source` and `target`, or `path`; "
                         "set them in the config or with --set data.pairs.",
                         path, ".source=FILE"));
  }
  if (lines && (files.source_column() != PairFilesConfig().source_column() ||
                files.target_column() != PairFilesConfig().target_column())) {
    problems.Add("",
                 "`source_column` and `target_column` apply only to `path`; "
                 "remove them when using `source` and `target`");
  }
}

// Validates the files of a split that is not a test split. The name of such a
// split has no effect.
void ValidateUnnamed(const std::string& path, const PairFilesConfig& files,
                     ConfigProblems& problems) {
  ValidateFiles(path, files, problems);
  if (!files.name().empty()) {
    problems.Note(absl::StrCat(path, ".name"),
                  "has no effect: only test sets have names");
  }
}

void ValidateTests(const PairsConfig& options, ConfigProblems& problems) {
  std::set<std::string> names;
  for (int i = 0; i < options.test_size(); ++i) {
    const std::string path = absl::StrCat("test[", i, "]");
    const std::string& name = options.test(i).name();
    ValidateFiles(path, options.test(i), problems);
    if (!names.insert(name).second) {
      problems.Add(path, absl::StrCat("repeats the name '", name,
                                      "'; give each test set its own name"));
    }
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '-' || c == '_';
        })) {
      problems.Add(absl::StrCat(path, ".name"),
                   "must contain only letters, digits, '-' and '_'");
    }
  }
}

// Does not check the kind of a given model, because the model is read later.
void ValidateSampling(const SubwordsConfig& options, ConfigProblems& problems) {
  if (!options.has_sampling()) return;
  const ConfigProblems::Scope scope(problems, "sampling");
  const SubwordSamplingConfig& sampling = options.sampling();
  if (sampling.nbest_size() != -1) {
    problems.RequireInRange("nbest_size", sampling.nbest_size(), 2, 512);
  }
  if (options.has_source_model()) return;
  if (options.kind() == SubwordsConfig::CHARACTERS) {
    problems.Add("",
                 "requires kind: BPE or kind: UNIGRAM; with kind: CHARACTERS, "
                 "each text has only one segmentation");
  } else if (options.kind() == SubwordsConfig::BPE &&
             sampling.nbest_size() != SubwordSamplingConfig().nbest_size()) {
    problems.Add(
        "nbest_size",
        "applies only to kind: UNIGRAM; with kind: BPE, only `alpha` is used");
  }
}

void ValidateSubwords(const SubwordsConfig& options, ConfigProblems& problems) {
  const ConfigProblems::Scope scope(problems, "subwords");
  const char* const rules[] = {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf",
                               "identity"};
  if (std::find(std::begin(rules), std::end(rules), options.normalization()) ==
      std::end(rules)) {
    problems.Add("normalization",
                 absl::StrCat("must be one of ", absl::StrJoin(rules, ", ")));
  }
  ValidateSampling(options, problems);
  if (options.has_source_model() && options.source_model().empty()) {
    problems.Add("source_model", "must name a file");
  }
  if (options.has_target_model() && options.target_model().empty()) {
    problems.Add("target_model", "must name a file");
  }
  if (options.joint() && options.has_target_model()) {
    problems.Add("target_model",
                 "must not be set when `joint` is true; `source_model` names "
                 "the joint model");
  }
  if (!options.joint() &&
      options.has_source_model() != options.has_target_model()) {
    problems.Add(
        "", "requires both `source_model` and `target_model`, or joint: true");
  }
}

}  // namespace

void ValidatePairs(const PairsConfig& options, ConfigProblems& problems) {
  problems.CheckRanges(options);
  problems.RequireInRange(
      "dev_pairs", static_cast<double>(options.dev_pairs()), 0,
      options.max_pairs() > 0 ? static_cast<double>(options.max_pairs() - 1)
                              : 1e9);
  if (!options.has_train()) {
    const auto needs_train = [&](bool present, const char* field) {
      if (present) {
        problems.Add(field,
                     "requires `train`, the files of the training split");
      }
    };
    needs_train(options.has_dev(), "dev");
    needs_train(options.test_size() > 0, "test");
    needs_train(options.has_subwords(), "subwords");
    needs_train(options.max_tokens() > 0, "max_tokens");
    needs_train(options.max_ratio() > 0, "max_ratio");
    if (options.dev_sample() > 0) {
      problems.Add("dev_sample",
                   "requires `train`, the files of the training split; with "
                   "data.path, use `dev_pairs`");
    }
    return;
  }
  if (options.source_column() != PairsConfig().source_column() ||
      options.target_column() != PairsConfig().target_column()) {
    problems.Add("source_column",
                 "applies only to data.path, as `target_column` does; with "
                 "`train`, set train.source_column and train.target_column");
  }
  ValidateUnnamed("train", options.train(), problems);
  if (options.has_dev()) ValidateUnnamed("dev", options.dev(), problems);
  if (options.has_dev() && options.dev_sample() > 0) {
    problems.Add("dev_sample",
                 "cannot be set together with `dev`; remove one of them");
  }
  if (options.dev_pairs() > 0) {
    problems.Add("dev_pairs",
                 "requires data.path; with `train`, use `dev` or `dev_sample`");
  }
  ValidateTests(options, problems);
  if (options.has_subwords()) {
    if (options.min_frequency() != PairsConfig().min_frequency()) {
      problems.Note(
          "min_frequency",
          "applies only to word vocabularies; remove it when using subwords");
    }
    ValidateSubwords(options.subwords(), problems);
  }
}

}  // namespace regard
