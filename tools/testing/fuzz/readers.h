// The readers of external files as functions of bytes, for fuzzing.
#ifndef TOOLS_TESTING_FUZZ_READERS_H_
#define TOOLS_TESTING_FUZZ_READERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// A reader accepts the bytes or returns an error. It must not crash or run out
// of memory, whatever the bytes are. Its error messages must be UTF-8.
struct FuzzedReader {
  // Name of the reader, and of the folder of its seeds.
  absl::string_view name;
  void (*read)(const std::string& bytes);
};

absl::Span<const FuzzedReader> FuzzedReaders();

// Returns null if there is no reader of this name.
const FuzzedReader* FindReader(absl::string_view name);

}  // namespace regard

#endif  // TOOLS_TESTING_FUZZ_READERS_H_
