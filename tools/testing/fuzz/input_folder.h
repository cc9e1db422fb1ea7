// A folder of input files, for readers that require a path.
#ifndef TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_
#define TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// Returns the folder of this process. The folder is removed when the process
// ends.
const std::string& InputFolder();

// Writes the bytes to the file `name` in InputFolder(). `name` may contain a
// subfolder. Returns the path.
std::string WriteInput(absl::string_view name, absl::string_view bytes);

}  // namespace regard

#endif  // TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_
