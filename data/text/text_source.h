// The data sources of text: files, generated sentences, and placeholders.
#ifndef DATA_TEXT_TEXT_SOURCE_H_
#define DATA_TEXT_TEXT_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/text/text_splits.h"
#include "files/line_reader.h"

namespace regard {

class TextConfig;

struct TextData {
  static constexpr char kName[] = "text";

  TextSplits splits;
  // The minimum average loss, in nats per character. 0 if it is not known.
  double entropy = 0;
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests;
  // Notes about the text for the user, one sentence each.
  std::vector<std::string> notes = {};
};

// Splits a UTF-8 text at the fractions of `config`, counted in characters.
TextSplits SplitText(absl::string_view text, const TextConfig& config);

// Reads a file as ReadWholeText() does. An empty file is also an error.
absl::StatusOr<TextData> ReadTextFile(const std::string& path,
                                      const TextConfig& config,
                                      LineEnds ends = LineEnds::kAny);

}  // namespace regard

#endif  // DATA_TEXT_TEXT_SOURCE_H_
