#include "data/corpus.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<PairReader> PairReader::Open(PairFilesConfig files, int64_t most,
                                            int text_version) {
  const LineEnds ends = LineEndsOf(text_version);
  if (files.has_path()) {
    const std::string path = ResolveUserPath(files.path());
    REGARD_ASSIGN_OR_RETURN(TextFile file,
                            TextFile::Open(path, "corpus", ends));
    return PairReader(std::move(files), most, text_version, std::move(file),
                      std::nullopt);
  }
  files.set_source(ResolveUserPath(files.source()));
  files.set_target(ResolveUserPath(files.target()));
  REGARD_ASSIGN_OR_RETURN(TextFile source,
                          TextFile::Open(files.source(), "corpus", ends));
  REGARD_ASSIGN_OR_RETURN(TextFile target,
                          TextFile::Open(files.target(), "corpus", ends));
  if (source.IsSameFile(target)) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.target(),
                     ":1:1: error: source and target must be different files"));
  }
  return PairReader(std::move(files), most, text_version, std::move(source),
                    std::move(target));
}

absl::StatusOr<bool> PairReader::Next() {
  if (most_ > 0 && pairs_ == most_) return false;
  if (second_.has_value()) {
    REGARD_ASSIGN_OR_RETURN(const bool has_source, first_.Next());
    REGARD_ASSIGN_OR_RETURN(const bool has_target, second_->Next());
    if (has_source != has_target) {
      const TextFile& longer = has_source ? first_ : *second_;
      return longer.Error(
          0, absl::StrCat(
                 "this line has no counterpart: ",
                 has_source ? files_.target() : files_.source(), " has ",
                 longer.number() - 1,
                 " lines; both files must have the same number of lines"));
    }
    source_ = first_.text();
    target_ = second_->text();
    if (has_source) CountReadPair();
    return has_source;
  }
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool any, first_.Next());
    if (!any) return false;
    if (IsBlankLine(first_.text(), text_version_)) {
      ++counts_.blank_lines;
      continue;
    }
    REGARD_RETURN_IF_ERROR(SplitColumns());
    CountReadPair();
    return true;
  }
}

absl::Status PairReader::SplitColumns() {
  const absl::string_view text = first_.text();
  const std::vector<absl::string_view> columns = absl::StrSplit(text, '\t');
  for (const bool is_source : {true, false}) {
    const int column =
        is_source ? files_.source_column() : files_.target_column();
    if (column >= static_cast<int>(columns.size())) {
      return first_.Error(
          text.size(),
          absl::StrCat("expected the ", is_source ? "source" : "target",
                       " sentence in column ", column + 1,
                       " (columns are separated by tabs), got ", columns.size(),
                       " column", columns.size() == 1 ? "" : "s"));
    }
    (is_source ? source_ : target_) = columns[column];
  }
  return absl::OkStatus();
}

void PairReader::CountReadPair() {
  ++pairs_;
  counts_.CountUnusualSpaces(source_, text_version_);
  counts_.CountUnusualSpaces(target_, text_version_);
}

TextCleanupCounts PairReader::counts() const {
  TextCleanupCounts counts = counts_;
  counts.carriage_returns =
      first_.carriage_returns() +
      (second_.has_value() ? second_->carriage_returns() : 0);
  return counts;
}

}  // namespace regard
