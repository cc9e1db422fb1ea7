// The readers of external files as functions of bytes, for fuzzing.
#ifndef TOOLS_TESTING_FUZZ_READERS_H_
#define TOOLS_TESTING_FUZZ_READERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// A reader must accept the bytes or return an error. It must not crash or run
// out of memory for any bytes. Its error messages must be UTF-8.
struct FuzzedReader {
  // Name of the reader, and of the folder of its seeds.
  absl::string_view name;
  void (*read)(const std::string& bytes);
};

absl::Span<const FuzzedReader> FuzzedReaders();

// Returns the reader of this name, or null if there is none.
const FuzzedReader* FindReader(absl::string_view name);

}  // namespace regard

#endif  // TOOLS_TESTING_FUZZ_READERS_H_
