// Reads sentence pairs from text files: two columns of a tab-separated file, or
// the lines of two files. Files may be plain or gzip-compressed.
#ifndef DATA_CORPUS_H_
#define DATA_CORPUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/pairs/pairs.pb.h"
#include "data/text/prepared_text.h"
#include "data/text_file.h"

namespace regard {

// Reads raw pairs one by one. In a tab-separated file, ignores all columns
// except source and target. Errors are ready to print.
//
// Lines must be valid text (see TextFile). Two parallel files must be different
// files with the same number of lines.
class PairReader {
 public:
  // Opens the files for reading the first `most` pairs, or all pairs if `most`
  // is 0.
  static absl::StatusOr<PairReader> Open(PairFilesConfig files, int64_t most,
                                         int text_version);

  // Reads the next pair. Returns false at the end. Ignores blank lines of a
  // tab-separated file. In two parallel files, a blank line is an empty
  // sentence.
  absl::StatusOr<bool> Next();

  // The two sides as written in the files. Valid until the next call of Next().
  absl::string_view source() const { return source_; }
  absl::string_view target() const { return target_; }

  // Returns an error whose location is the beginning of `side`. `side` must be
  // in the first file.
  absl::Status Error(absl::string_view side, absl::string_view problem) const {
    return first_.Error(side.data() - first_.text().data(), problem);
  }

  int64_t pairs() const { return pairs_; }
  // The number of lines read so far from the first file.
  int64_t lines() const { return first_.number(); }
  // The counts of changes and ignored lines, for the lines read so far.
  TextCleanupCounts counts() const;

  // The SHA-256 digests of the first file (`path` or `source`) and the second
  // file (`target`).
  absl::StatusOr<std::string> FirstDigest() const { return first_.Digest(); }
  absl::StatusOr<std::string> SecondDigest() const { return second_->Digest(); }

 private:
  PairReader(PairFilesConfig files, int64_t most, int text_version,
             TextFile first, std::optional<TextFile> second)
      : files_(std::move(files)),
        most_(most),
        text_version_(text_version),
        first_(std::move(first)),
        second_(std::move(second)) {}

  absl::Status SplitColumns();
  void CountReadPair();

  PairFilesConfig files_;
  int64_t most_;
  int text_version_;
  int64_t pairs_ = 0;
  TextCleanupCounts counts_;  // all counts except carriage_returns
  TextFile first_;
  std::optional<TextFile> second_;
  absl::string_view source_;
  absl::string_view target_;
};

}  // namespace regard

#endif  // DATA_CORPUS_H_
