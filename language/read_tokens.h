// Reads the tokenizer of a language model before training.
#ifndef LANGUAGE_READ_TOKENS_H_
#define LANGUAGE_READ_TOKENS_H_

#include <map>
#include <string>

#include "data/text/text_splits.h"
#include "language/language_model.pb.h"

namespace regard {

struct TokenizedConfig {
  LanguageModelConfig config;
  std::string digest = {};  // SHA-256 of the tokenizer; empty if none was read
  // The problems, by field of `tokens`.
  std::map<std::string, std::string> problems = {};
};

// Reads the tokenizer of a `config` with unit: BYTE_PAIRS into
// text->vocabulary, unless it already contains a tokenizer. If there is a
// problem, the returned config has unit: CHARACTERS, so that a model can still
// be constructed.
TokenizedConfig ReadTokens(const LanguageModelConfig& config, TextSplits* text);

}  // namespace regard

#endif  // LANGUAGE_READ_TOKENS_H_
