// Where the texts of a classification come from.
#ifndef DATA_TEXT_LABELLED_TEXT_SOURCE_H_
#define DATA_TEXT_LABELLED_TEXT_SOURCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/text_splits.h"

namespace regard {

class LabelledTextConfig;

struct LabelledTextData {
  static constexpr char kName[] = "labelled text";

  LabelledSplits splits;
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests;
  // What the user should know of the file, a sentence each.
  std::vector<std::string> notes = {};
};

// Reads a file as ReadWholeText() does. Blank lines are passed over. Errors say
// path:line:column: a line of more than 64 KiB, a first line without one tab or
// two, another line with another number of them, a label that is empty or that
// training lacks, and fewer than two labels in training, if there is any.
absl::StatusOr<LabelledTextData> ReadLabelledText(
    const std::string& path, const LabelledTextConfig& config,
    int text_version = 1);

// Makes the labels of the data those that a trained model knows. An error,
// complete to print, names one that is not among them.
absl::Status UseLabels(const std::vector<std::string>& labels,
                       LabelledSplits* data);

// `sentence` of the data source `grammar` with the number of one of its verbs
// changed: that of the `choice`-th, modulo the number of verbs.
std::string WithWrongNumber(absl::string_view sentence, uint64_t choice);

}  // namespace regard

#endif  // DATA_TEXT_LABELLED_TEXT_SOURCE_H_
