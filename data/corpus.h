// Sentence pairs from text files: the two columns of a tab-separated file, or
// the lines of two files, each plain or compressed by gzip.
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

// Reads raw pairs one by one. Columns of a tab-separated file that are neither
// the source's nor the target's (attributions) are passed over. Errors are
// complete to print; TextFile says what is wrong with a line. Two files must be
// two, and have as many lines.
class PairReader {
 public:
  // Reads the first `most` pairs, or all if `most` is 0.
  static absl::StatusOr<PairReader> Open(PairFilesConfig files, int64_t most,
                                         int text_version);

  // False at the end. Passes over blank lines of a tab-separated file; in two
  // files they are empty sentences.
  absl::StatusOr<bool> Next();

  // The sides as they stand in the files; valid until the next call of Next().
  absl::string_view source() const { return source_; }
  absl::string_view target() const { return target_; }

  // An error at the beginning of a side that stands in `path`.
  absl::Status Error(absl::string_view side, absl::string_view problem) const {
    return first_.Error(side.data() - first_.text().data(), problem);
  }

  int64_t pairs() const { return pairs_; }
  // Lines of the first file so far.
  int64_t lines() const { return first_.number(); }
  // Counts of the lines read so far.
  TextCounts counts() const;

  // SHA-256 of `path` or `source`, and of `target`.
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
  void CountPair();

  PairFilesConfig files_;
  int64_t most_;
  int text_version_;
  int64_t pairs_ = 0;
  TextCounts counts_;  // without carriage returns
  TextFile first_;
  std::optional<TextFile> second_;
  absl::string_view source_;
  absl::string_view target_;
};

}  // namespace regard

#endif  // DATA_CORPUS_H_
