// Where the text of a language model comes from.
#ifndef DATA_TEXT_TEXT_SOURCE_H_
#define DATA_TEXT_TEXT_SOURCE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/text.pb.h"
#include "data/text/text_splits.h"

namespace regard {

struct TextData {
  static constexpr char kName[] = "text";

  TextSplits splits;
  // Nats per character that no model can do without on average; 0: not known.
  double entropy = 0;
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests;
};

// Cuts a text at the shares of `config`, counted in characters. `text` is
// UTF-8.
TextSplits SplitText(absl::string_view text, const TextConfig& config);

// Reads a file of at most 256 MiB; a byte order mark is dropped. Errors say
// path:line:column (columns count bytes, from 1): bytes that are not UTF-8, a
// NUL; and which file is empty, or missing.
absl::StatusOr<TextData> ReadTextFile(const std::string& path,
                                      const TextConfig& config);

}  // namespace regard

#endif  // DATA_TEXT_TEXT_SOURCE_H_
