// Fuzzes one reader with libFuzzer: fuzz --reader=NAME
// [LIBFUZZER_OPTION|CORPUS...].
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tools/testing/fuzz/readers.h"

namespace {

const regard::FuzzedReader* reader = nullptr;

}  // namespace

// Reads --reader, because libFuzzer ignores arguments that begin with two
// hyphens.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    absl::string_view argument = (*argv)[i];
    if (!absl::ConsumePrefix(&argument, "--reader=")) continue;
    reader = regard::FindReader(argument);
  }
  if (reader != nullptr) return 0;
  std::fprintf(stderr, "fuzz: error: --reader=NAME must be one of\n");
  for (const regard::FuzzedReader& known : regard::FuzzedReaders()) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(known.name.size()),
                 known.name.data());
  }
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reader->read(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
