// The tokeniser of a language model that is to be trained.
#ifndef LANGUAGE_READ_TOKENS_H_
#define LANGUAGE_READ_TOKENS_H_

#include <map>
#include <string>

#include "data/text/text_splits.h"
#include "language/language_model.pb.h"

namespace regard {

struct TokenizedConfig {
  LanguageModelConfig config;
  std::string digest = {};  // SHA-256 of what was read; empty if nothing was
  // What is wrong with it, by the field of `tokens`.
  std::map<std::string, std::string> problems = {};
};

// Puts the tokeniser that a `config` of BYTE_PAIRS names into `text`, unless it
// has one. With a problem, what is returned is a config of characters, which a
// model can be made of.
TokenizedConfig ReadTokens(const LanguageModelConfig& config, TextSplits* text);

}  // namespace regard

#endif  // LANGUAGE_READ_TOKENS_H_
