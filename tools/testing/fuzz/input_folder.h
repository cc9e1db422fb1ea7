// A folder of files in memory, for readers that want a path.
#ifndef TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_
#define TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// The folder of this process, which goes with it.
const std::string& InputFolder();

// Writes the bytes to the file `name` of the folder, which may be in a folder
// of its own. Returns the path.
std::string WriteInput(absl::string_view name, absl::string_view bytes);

}  // namespace regard

#endif  // TOOLS_TESTING_FUZZ_INPUT_FOLDER_H_
