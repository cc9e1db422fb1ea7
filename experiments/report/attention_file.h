// attention.json: the attention weights that a report shows, for other
// programs. The format is described in docs/run_folder.md.
#ifndef EXPERIMENTS_REPORT_ATTENTION_FILE_H_
#define EXPERIMENTS_REPORT_ATTENTION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// Returns the text of the file. Numbers have six digits. Numbers that are not
// finite become null.
std::string AttentionJson(absl::Span<const LabelledMatrix> maps);

// Parses the text of a file. Returns InvalidArgument if the text is malformed,
// or if the sizes of a map do not match.
absl::StatusOr<std::vector<LabelledMatrix>> ParseAttentionJson(
    absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_ATTENTION_FILE_H_
