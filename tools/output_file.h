// Files that a program writes where its user says.
#ifndef TOOLS_OUTPUT_FILE_H_
#define TOOLS_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// What a program wants to write by the flag `flag`, before it computes it. An
// InvalidArgument if `path` does not end in one of `endings`, if its folder is
// not there, if it is a folder or the like, or if it is a file of a run's own.
absl::Status CheckOutputFile(absl::string_view flag, const std::string& path,
                             absl::Span<const absl::string_view> endings);

}  // namespace regard

#endif  // TOOLS_OUTPUT_FILE_H_
