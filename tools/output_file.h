// Checks a path to which a program will write.
#ifndef TOOLS_OUTPUT_FILE_H_
#define TOOLS_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Checks the path of the flag `flag` before the program computes the content.
// Returns InvalidArgument if `path` does not end in one of `endings`, or if its
// directory does not exist. An existing path must be a regular file, and must
// not be a file of a run.
absl::Status CheckOutputFile(absl::string_view flag, const std::string& path,
                             absl::Span<const absl::string_view> endings);

}  // namespace regard

#endif  // TOOLS_OUTPUT_FILE_H_
