// The data sources of labelled texts, for classification.
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
  // Notes about the file for the user, one sentence each.
  std::vector<std::string> notes = {};
};

// Reads a file as ReadWholeText() does. Blank lines are ignored. Errors begin
// with path:line:column. A line of more than 64 KiB is an error. The first line
// must have one or two tabs, and all other lines must have the same number of
// tabs. A label must not be empty, and must occur in training. If there is a
// training split, it must have at least two labels.
absl::StatusOr<LabelledTextData> ReadLabelledText(
    const std::string& path, const LabelledTextConfig& config,
    int text_version = 1);

// Replaces the labels of the data with the labels of a trained model. Returns
// an error, ready to print, for a label that the model does not have.
absl::Status ReplaceLabels(const std::vector<std::string>& labels,
                           LabelledSplits* data);

// Returns `sentence`, which is from the data source `grammar`, with one verb in
// the wrong number. The verb has the index `choice`, modulo the number of
// verbs.
std::string WithWrongNumber(absl::string_view sentence, uint64_t choice);

}  // namespace regard

#endif  // DATA_TEXT_LABELLED_TEXT_SOURCE_H_
