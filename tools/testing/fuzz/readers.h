// All that reads bytes from outside, as functions of those bytes: to be fuzzed.
#ifndef TOOLS_TESTING_FUZZ_READERS_H_
#define TOOLS_TESTING_FUZZ_READERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// A reader either reads the bytes or refuses them by an error. Whatever the
// bytes are, it neither crashes nor runs out of memory, and what an error says
// is UTF-8.
struct FuzzedReader {
  // Names the folder of its seeds, too.
  absl::string_view name;
  void (*read)(const std::string& bytes);
};

absl::Span<const FuzzedReader> FuzzedReaders();

// Null if there is none of that name.
const FuzzedReader* FindReader(absl::string_view name);

}  // namespace regard

#endif  // TOOLS_TESTING_FUZZ_READERS_H_
