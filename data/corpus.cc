#include "data/corpus.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

absl::StatusOr<PairReader> PairReader::Open(PairFilesConfig files,
                                            int64_t most) {
  if (files.has_path()) {
    const std::string path = ResolveUserPath(files.path());
    REGARD_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, "corpus"));
    return PairReader(std::move(files), most, std::move(file), std::nullopt);
  }
  files.set_source(ResolveUserPath(files.source()));
  files.set_target(ResolveUserPath(files.target()));
  REGARD_ASSIGN_OR_RETURN(TextFile source,
                          TextFile::Open(files.source(), "corpus"));
  REGARD_ASSIGN_OR_RETURN(TextFile target,
                          TextFile::Open(files.target(), "corpus"));
  if (source.IsSameFile(target)) {
    return absl::InvalidArgumentError(absl::StrCat(
        files.target(), ":1:1: error: source and target are the same file"));
  }
  return PairReader(std::move(files), most, std::move(source),
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
          0, absl::StrCat("this line has no other side: ",
                          has_source ? files_.target() : files_.source(),
                          " has ", longer.number() - 1, " lines"));
    }
    source_ = first_.text();
    target_ = second_->text();
    if (has_source) ++pairs_;
    return has_source;
  }
  while (true) {
    REGARD_ASSIGN_OR_RETURN(const bool any, first_.Next());
    if (!any) return false;
    if (first_.text().empty()) continue;
    REGARD_RETURN_IF_ERROR(SplitColumns());
    ++pairs_;
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
          absl::StrCat("want a tab and the ", is_source ? "source" : "target",
                       " sentence in column ", column + 1, ", got ",
                       columns.size(), " column",
                       columns.size() == 1 ? "" : "s"));
    }
    (is_source ? source_ : target_) = columns[column];
  }
  return absl::OkStatus();
}

int64_t PairReader::carriage_returns() const {
  return first_.carriage_returns() +
         (second_.has_value() ? second_->carriage_returns() : 0);
}

}  // namespace regard
