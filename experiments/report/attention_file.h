// attention.json: the weights that a run shows, for other programs.
// docs/run_folder.md.
#ifndef EXPERIMENTS_REPORT_ATTENTION_FILE_H_
#define EXPERIMENTS_REPORT_ATTENTION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// The file's text. Numbers have six digits; those that JSON lacks are null.
std::string AttentionJson(absl::Span<const LabelledMatrix> maps);

// InvalidArgument for another text, or a map whose parts do not fit together.
absl::StatusOr<std::vector<LabelledMatrix>> ParseAttentionJson(
    absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_ATTENTION_FILE_H_
