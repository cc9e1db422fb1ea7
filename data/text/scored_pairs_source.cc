#include "data/text/scored_pairs_source.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "data/data_source.h"
#include "data/text/prepared_text.h"
#include "data/text/scored_pairs.pb.h"
#include "data/text_file.h"
#include "files/file.h"
#include "files/utf8.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxTextBytes = int64_t{256} << 20;

constexpr char kWanted[] =
    "each line must be two texts and a number, separated by tabs";

class ScoredPairsSource
    : public WithOptions<DataSource<ScoredPairsData>, ScoredPairsConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr DataPathRequirement kPath = DataPathRequirement::kOptional;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    if (options.dev_fraction() + options.test_fraction() > 1) {
      problems.Add("test_fraction",
                   absl::StrCat("must be at most 1 - `dev_fraction` (",
                                1 - options.dev_fraction(), ")"));
    }
  }

  absl::StatusOr<ScoredPairsData> Load(
      const DataRequest& request) const override {
    if (request.path.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: data.path names no file; set it with --set data.path=FILE; ",
          kWanted));
    }
    return ReadScoredPairs(ResolveUserPath(request.path), options_,
                           request.text_version);
  }
};

}  // namespace

absl::StatusOr<ScoredPairsData> ReadScoredPairs(const std::string& path,
                                                const ScoredPairsConfig& config,
                                                int text_version) {
  REGARD_ASSIGN_OR_RETURN(
      TextFile file,
      TextFile::Open(path, "scored pairs", LineEndsOf(text_version)));
  TextCleanupCounts counts;
  std::vector<ScoredPair> all;
  int64_t bytes = 0;
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool more, file.Next());
    if (!more) break;
    bytes += std::ssize(file.text()) + 1;
    if (bytes > kMaxTextBytes) {
      return file.Error(
          0, "the scored pairs exceed the limit of 256 MiB; remove lines");
    }
    if (SplitOnWhitespace(file.text()).empty()) {
      ++counts.blank_lines;
      continue;
    }
    const std::vector<absl::string_view> parts =
        absl::StrSplit(file.text(), '\t');
    if (parts.size() != 3) {
      return file.Error(
          0, absl::StrCat(kWanted, "; got ", parts.size() - 1, " tabs"));
    }
    ScoredPair pair = {std::string(parts[0]), std::string(parts[1])};
    if (!absl::SimpleAtod(parts[2], &pair.score) ||
        !std::isfinite(pair.score)) {
      return file.Error(
          parts[0].size() + parts[1].size() + 2,
          absl::StrCat("expected a finite number, got '", parts[2], "'"));
    }
    pair.score /= config.highest();
    all.push_back(std::move(pair));
  }
  if (all.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": error: the file is empty; ", kWanted));
  }
  const auto begin_of = [&](double share) {
    return static_cast<size_t>(
        std::llround((1 - share) * static_cast<double>(all.size())));
  };
  const size_t test = begin_of(config.test_fraction());
  const size_t dev = begin_of(config.dev_fraction() + config.test_fraction());
  ScoredPairsData data;
  for (size_t i = 0; i < all.size(); ++i) {
    ScoredPairSplits& splits = data.splits;
    (i < dev    ? splits.train
     : i < test ? splits.dev
                : splits.test)
        .push_back(std::move(all[i]));
  }
  counts.carriage_returns = file.carriage_returns();
  const std::string note = counts.Note("data.path");
  if (!note.empty()) data.notes.push_back(note);
  REGARD_ASSIGN_OR_RETURN(data.digests["data.path"], file.Digest());
  return data;
}

REGARD_DATA_SOURCES(ScoredPairsSource) {
  sources.Add<ScoredPairsSource>("scored pairs of texts from a file");
}

}  // namespace regard
