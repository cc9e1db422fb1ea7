// A text that settings come from (a file, an embedded text or one `--set`
// argument), and how a problem in it is shown:
//
//   configs/twenty_pairs.textproto:4:3: error: no field 'widht' in Model; ...
//     widht: 32
//     ^~~~~
#ifndef EXPERIMENTS_CONFIG_CONFIG_TEXT_H_
#define EXPERIMENTS_CONFIG_CONFIG_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace regard {

// Bytes [begin, begin + length) of a text.
struct TextRange {
  size_t begin = 0;
  size_t length = 0;
};

// Something wrong at a place of a text.
struct TextProblem {
  TextRange range;
  std::string message;
};

// Problems of one text beyond these are not looked for.
inline constexpr size_t kMostProblems = 20;

// Larger texts are refused, files before they are read.
inline constexpr size_t kMostConfigBytes = size_t{1} << 20;

// What keeps `text` from being a text config at all: a byte order mark, a NUL
// byte, invalid UTF-8, too many bytes.
std::optional<TextProblem> FindEncodingProblem(absl::string_view text);

class ConfigText {
 public:
  // `name` is printed before line numbers: the path as the user gave it, or
  // what an embedded text is called.
  static ConfigText File(std::string name, std::string text);
  // `argument` is `path=value`; `place` says where the user wrote it.
  static ConfigText Override(std::string argument, std::string place = "--set");

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  bool is_override() const { return is_override_; }

  // 1-based.
  int Line(size_t offset) const;
  // 1-based, in characters; a tab is one.
  int Column(size_t offset) const;

  // Where a value came from: `file.textproto:12`, or `--set`.
  std::string Origin(size_t offset) const;
  // The same with the column: `file.textproto:12:3`.
  std::string Where(size_t offset) const;

  // The lines to print for a problem: place and message, source line, caret.
  // Long lines are cut around the caret; what a terminal might obey or hide is
  // replaced by '?'. No newline at the end.
  std::string Diagnostic(const TextProblem& problem) const;

 private:
  ConfigText(std::string name, std::string text, bool is_override);

  TextRange LineRange(size_t offset) const;

  std::string name_;
  std::string text_;
  bool is_override_;
  std::vector<size_t> line_starts_;
};

// `text` with control, invisible and invalid characters replaced by '?', and
// cut after `max_characters`.
std::string Printable(absl::string_view text, int max_characters = 40);

// Characters that are shown of the name of a file.
inline constexpr int kNameCharacters = 200;

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_CONFIG_TEXT_H_
