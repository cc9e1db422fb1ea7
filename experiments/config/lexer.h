// Cuts a text config into tokens with exact places.
#ifndef EXPERIMENTS_CONFIG_LEXER_H_
#define EXPERIMENTS_CONFIG_LEXER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"

namespace regard {

struct Token {
  enum class Kind {
    kIdentifier,
    kInteger,  // decimal, octal with a leading 0, or hexadecimal
    kFloat,
    kString,  // with its quotes
    kSymbol,  // one character
    kBad,     // already reported
    kEnd,
  };
  Kind kind = Kind::kEnd;
  TextRange range;
};

// All tokens of `text` from byte `begin` on, closed by one kEnd. Comments run
// from # to the end of the line; a string ends on its line. What is no token
// is added to `problems`, up to kMostProblems.
std::vector<Token> Tokenize(absl::string_view text, size_t begin,
                            std::vector<TextProblem>* problems);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_LEXER_H_
